/** The server under fire, in this process, and whatever must be as it was after every batch of bad messages. */
import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import type { Tasks } from 'holdfast';
import { Sealer } from '../../../src/security/sealing.ts';
import { fixtureFactory, fixtureTasks, storeFrom } from '../../fixture/server.ts';
import { atEnd } from '../../kit/lifetime.ts';
import { listed } from '../../kit/listed.ts';
import { serve } from '../../kit/serve.ts';
import { maxBodySize, oversized } from './byte-flaws.ts';
import { drawn, type Front } from './campaign.ts';
import { type BadMessage, oneOf, spoil } from './draft.ts';
import { methods } from './methods.ts';
import { Mistakes } from './mistakes.ts';
import { type Answer, read } from './oracle.ts';
import type { Loose } from './requests.ts';
import { shooterAt } from './shots.ts';
import { type Ask, askOver, setStage, withoutTasks } from './stage.ts';
import { rawShots } from './wire.ts';

const stranger = 'somebody else';

export type Scene = Awaited<ReturnType<typeof openScene>>;

export async function openScene() {
  const tasks = fixtureTasks({ store: storeFrom('memory:') });
  await tasks.work({ concurrency: 64 });
  const mistakes = new Mistakes();
  const onError = (error: Error) => mistakes.notice(error);
  const factory = fixtureFactory(tasks, { plainClients: 'wait' });
  const server = await serve(tasks, { onError, maxBodySize }, factory);
  const shooter = shooterAt(Number(new URL(server.url).port));
  atEnd(() => {
    shooter.close();
    mistakes.stopListening();
  });
  const stage = await setStage(askOver(shooter));
  const { staged } = stage;
  const [foreign = '', ...hidden] = await unseenTasks(tasks, askOver(shooter), staged.waiting.fan_out!);
  const facts = { ...staged, foreign, hidden, wrongStates: await wrongStates(tasks, staged.parked) };
  const requests = await tasks.requests();
  const every = methods(facts, true);
  const bases = every.map(({ base }) => base);
  const tooLong = fc.tuple(oneOf(bases), oversized).map(([base, flaw]) => spoil(base, [flaw]));
  const raw = rawShots(bases);
  const known = await published();

  async function published(): Promise<Set<string>> {
    const found = await Array.fromAsync(listed(tasks, { owner: 'anonymous', limit: 500 }));
    return new Set(found.map(({ id }) => id));
  }

  /** How many go on waiting for news on behalf of somebody who is gone; a server takes a moment to notice. */
  async function listeners(): Promise<number> {
    const count = () => server.handler.subscriptions + requests.watchers;
    for (let looks = 0; looks < 5_000 && count() > 0; looks++) await pause(2);
    return count();
  }

  async function send({ draft, raw }: BadMessage): Promise<Answer> {
    const answer = await (raw ? shooter.sendRaw(raw) : shooter.send(draft));
    if (answer.kind === 'answered') known.add(read(answer)?.result?.taskId);
    return answer;
  }

  async function damage(): Promise<string[]> {
    const problems = await stage.damage();
    for (const id of [foreign, ...hidden])
      if ((await tasks.get(id))?.phase !== 'waiting') problems.push('a hidden task has changed');
    for (const id of await published())
      if (!known.has(id)) problems.push(`a task was made of which nobody was told: ${id}`);
    const left = await listeners();
    if (left > 0) problems.push(`${left} listeners were left behind`);
    return [...problems, ...mistakes.taken()];
  }

  return {
    shooter,
    facts,
    methods: every,
    published,
    send,
    damage,
    finish: stage.finish,
    /** Of a batch one message is oversized, and some are wrong as HTTP. */
    extras: (seed: number) => [...drawn(tooLong, 1, seed), ...drawn(raw, 14, seed)],
  } satisfies Front & Record<string, unknown>;
}

/** Waiting tasks that exist and that nobody here may see: of another owner, of an open call, below another task. */
async function unseenTasks(tasks: Tasks, ask: Ask, parentId: string): Promise<string[]> {
  const asking = new Set<string>();
  const stop = await tasks.subscribe(({ taskId, events }) => {
    if (events.some(({ type }) => type === 'asked')) asking.add(taskId);
  });
  const foreign = await tasks.create('ask_name', {}, { owner: stranger });
  await ask('tools/call', { name: 'multi_input', arguments: {}, _meta: withoutTasks });
  while (asking.size < 2) await pause(2);
  stop();
  const tree = await (await tasks.requests()).tree(parentId);
  const below = tree!.descendants.map(({ id }) => id);
  return [...new Set([foreign.id, ...asking, ...below])];
}

/** States that this server issued for something else, or too long ago, or that somebody tampered with. */
async function wrongStates(tasks: Tasks, right: string): Promise<string[]> {
  const requests = await tasks.requests();
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
    sealer.seal({ ...value, issuedFor: 'another call' }, later),
    new Sealer(key, 'something else').seal(value, later),
    new Sealer(new Uint8Array(32), purpose).seal(value, later),
  ];
}

/** The state with one bit changed, or with more or less of it. */
export function tampered(state: string): string[] {
  const bytes = Buffer.from(state, 'base64url');
  const flipped = [0, 5, 12, 40, bytes.length - 1].map((place) => bytes.with(place, bytes[place]! ^ 1));
  const cut = [bytes.subarray(12), bytes.subarray(0, -1), Buffer.concat([bytes, bytes])];
  return [...flipped, ...cut].map((one) => Buffer.from(one).toString('base64url'));
}
