/** The server under fire, in this process, and whatever must be as it was after every batch of bad messages. */
import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import type { Tasks } from 'holdfast';
import { type HttpServer, serveHttp } from 'holdfast/server';
import { Sealer } from '../../src/access/seal.ts';
import { fixtureFactory, fixtureTasks, storeFrom } from '../fixture/server.ts';
import { largestBody, oversized } from './byte-flaws.ts';
import { drawn, type Front } from './campaign.ts';
import { type BadMessage, type Method, spoil } from './draft.ts';
import { type Facts, methods } from './methods.ts';
import { Mistakes } from './mistakes.ts';
import { type Answer, read } from './oracle.ts';
import type { Loose } from './requests.ts';
import { Shooter } from './shots.ts';
import { askOver, Stage, withoutTasks } from './stage.ts';
import { rawShots } from './wire.ts';

const stranger = 'somebody else';

export class Scene implements Front, AsyncDisposable {
  readonly #tasks: Tasks;
  readonly #server: HttpServer;
  readonly #mistakes: Mistakes;
  readonly shooter: Shooter;
  readonly #known = new Set<string>();
  #stage!: Stage;
  facts!: Facts;
  methods!: readonly Method[];

  private constructor(tasks: Tasks, server: HttpServer, mistakes: Mistakes) {
    this.#tasks = tasks;
    this.#server = server;
    this.#mistakes = mistakes;
    this.shooter = new Shooter(Number(new URL(server.url).port));
  }

  static async open(): Promise<Scene> {
    const tasks = fixtureTasks({ store: storeFrom('memory:') });
    await tasks.work({ concurrency: 64 });
    const mistakes = new Mistakes();
    const onError = (error: Error) => mistakes.notice(error);
    const options = { port: 0, onError, largestBody, stopOn: [], grace: '1s' } as const;
    const scene = new Scene(tasks, await serveHttp(tasks, fixtureFactory(tasks), options), mistakes);
    scene.#stage = await Stage.set(askOver(scene.shooter));
    const { staged } = scene.#stage;
    const [foreign = '', ...hidden] = await scene.#unseen(staged.waiting.fan_out!);
    scene.facts = { ...staged, foreign, hidden, wrongStates: await scene.#wrongStates(staged.parked) };
    scene.methods = methods(scene.facts, true);
    for (const id of await scene.published()) scene.#known.add(id);
    return scene;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.shooter.close();
    await this.#server.stop();
    this.#mistakes.stopListening();
  }

  /** Of a batch one message is oversized, and some are wrong as HTTP. */
  extras(seed: number): BadMessage[] {
    const bases = this.methods.map(({ base }) => base);
    const tooLong = fc.tuple(fc.constantFrom(...bases), oversized).map(([base, flaw]) => spoil(base, [flaw]));
    return [...drawn(tooLong, 1, seed), ...drawn(rawShots(bases), 14, seed)];
  }

  async send({ draft, raw }: BadMessage): Promise<Answer> {
    const answer = await (raw ? this.shooter.sendRaw(raw) : this.shooter.send(draft));
    if (answer.kind === 'answered') this.#known.add(read(answer)?.result?.taskId);
    return answer;
  }

  async damage(): Promise<string[]> {
    const problems = await this.#stage.damage();
    for (const id of [this.facts.foreign, ...this.facts.hidden])
      if ((await this.#tasks.get(id))?.phase !== 'waiting') problems.push('a hidden task has changed');
    for (const id of await this.published())
      if (!this.#known.has(id)) problems.push(`a task was made of which nobody was told: ${id}`);
    const left = await this.#listeners();
    if (left > 0) problems.push(`${left} listeners were left behind`);
    return [...problems, ...this.#mistakes.taken()];
  }

  finish(): Promise<string[]> {
    return this.#stage.finish();
  }

  /** How many go on waiting for news on behalf of somebody who is gone; a server takes a moment to notice. */
  async #listeners(): Promise<number> {
    const requests = await this.#tasks.requests();
    const count = () => this.#server.handler.subscriptions + requests.watchers;
    for (let looks = 0; looks < 5_000 && count() > 0; looks++) await pause(2);
    return count();
  }

  /** The ids of all tasks that callers without a token were told of. */
  async published(): Promise<Set<string>> {
    const ids = new Set<string>();
    for (let cursor: string | undefined; ; ) {
      const page = await this.#tasks.list({ owner: 'anonymous', limit: 500, ...(cursor && { cursor }) });
      for (const { id } of page.tasks) ids.add(id);
      cursor = page.nextCursor;
      if (cursor === undefined) return ids;
    }
  }

  /** Waiting tasks that exist and that nobody here may see: of another owner, of an open call, below another task. */
  async #unseen(parentId: string): Promise<string[]> {
    const asking = new Set<string>();
    const stop = await this.#tasks.subscribe(({ taskId, events }) => {
      if (events.some(({ type }) => type === 'asked')) asking.add(taskId);
    });
    const foreign = await this.#tasks.create('ask_name', {}, { owner: stranger });
    const call = { name: 'multi_input', arguments: {}, _meta: withoutTasks };
    await askOver(this.shooter)('tools/call', call);
    while (asking.size < 2) await pause(2);
    stop();
    const tree = await (await this.#tasks.requests()).tree(parentId);
    const below = tree!.descendants.map(({ id }) => id);
    return [...new Set([foreign.id, ...asking, ...below])];
  }

  /** States that this server issued for something else, or too long ago, or that somebody tampered with. */
  async #wrongStates(right: string): Promise<string[]> {
    const requests = await this.#tasks.requests();
    const key = await requests.secret('request-state');
    const purpose = 'request-state of anonymous';
    const sealer = new Sealer(key, purpose);
    const opened = sealer.open(right, requests.now);
    if ('problem' in opened) throw new Error(`The state of the parked call is ${opened.problem}.`);
    const value = opened.value as Loose;
    const later = requests.now + 3_600_000;
    return [
      ...tampered(right),
      sealer.seal(value, requests.now - 1),
      new Sealer(key, `request-state of ${stranger}`).seal(value, later),
      sealer.seal({ ...value, argumentsDigest: 'other' }, later),
      sealer.seal({ ...value, tool: 'nobody' }, later),
      new Sealer(key, 'something else').seal(value, later),
      new Sealer(new Uint8Array(32), purpose).seal(value, later),
    ];
  }
}

/** The state with one bit changed, or with more or less of it. */
export function tampered(state: string): string[] {
  const bytes = Buffer.from(state, 'base64url');
  const flipped = [0, 5, 12, 40, bytes.length - 1].map((place) => bytes.with(place, bytes[place]! ^ 1));
  const cut = [bytes.subarray(12), bytes.subarray(0, -1), Buffer.concat([bytes, bytes])];
  return [...flipped, ...cut].map((one) => Buffer.from(one).toString('base64url'));
}
