/** The fixture server as a child process, spoken to line by line. */
import { join } from 'node:path';
import { subscriptionIdKey } from '../../../src/dialects/2026-07-28/names.ts';
import { type Exit, Program, sources } from '../../kit/process.ts';
import type { Front } from './campaign.ts';
import type { BadMessage, Method } from './draft.ts';
import { type Facts, methods } from './methods.ts';
import { type Answer, acknowledged, idOf, judge } from './oracle.ts';
import { envelope, type Loose } from './requests.ts';
import { tampered } from './scene.ts';
import { type Stage, setStage } from './stage.ts';
import { PipeTalk, withOwnId } from './talk.ts';

const fixture = join(import.meta.dirname, '../../fixture/main.ts');
const watcher = new URL('./report-prototypes.ts', import.meta.url).href;

export class StdioScene extends PipeTalk implements Front, AsyncDisposable {
  readonly isPipe = true;
  facts!: Facts;
  methods!: readonly Method[];
  #stage!: Stage;
  readonly news: Loose[] = [];
  readonly exit: Promise<Exit>;
  readonly #program: Program;
  readonly #subscriptions = new Set<unknown>();
  /** Messages that were not answered in time, by their ids, and answers that came when nobody waited any more. */
  readonly #silent = new Map<unknown, BadMessage>();
  readonly #late: Loose[] = [];

  private constructor(program: Program) {
    super(program, () => this.ask('server/discover'));
    this.#program = program;
    this.exit = program.exit;
  }

  static async open(): Promise<StdioScene> {
    const command = sources('--import', watcher, fixture, '--stdio', '--wait', '--store', 'memory:');
    const scene = new StdioScene(new Program(command));
    scene.#stage = await setStage((method, params) => scene.ask(method, params));
    const { staged } = scene.#stage;
    // Nothing here is anybody else's; these do not exist.
    const [foreign = '', ...hidden] = Object.values(staged.waiting).map((id) => [...id].reverse().join(''));
    scene.facts = { ...staged, isAlone: true, foreign, hidden, wrongStates: tampered(staged.parked) };
    scene.methods = methods(scene.facts, false);
    return scene;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#program.kill();
  }

  async end(): Promise<Exit> {
    this.#program.child.stdin!.end();
    return this.exit;
  }

  override ask(method: string, params: Loose = {}): Promise<Loose> {
    return super.ask(method, { _meta: envelope(), ...params });
  }

  override async send(bad: BadMessage): Promise<Answer> {
    const { message } = withOwnId(bad).draft;
    const answer = await super.send(bad);
    if (answer.kind === 'nothing') this.#silent.set(idOf(message), bad);
    return answer;
  }

  override async exchange(line: Buffer, id: unknown, mayBeSilent: boolean): Promise<Answer> {
    const answer = await super.exchange(line, id, mayBeSilent);
    if (this.#subscriptions.has(id)) {
      void this.tell({ method: 'notifications/cancelled', params: { requestId: id } });
      await this.ask('server/discover');
      this.#subscriptions.delete(id);
    }
    return answer;
  }

  async damage(): Promise<string[]> {
    const problems = await this.#stage.damage();
    for (const said of this.#late.splice(0)) {
      const text = JSON.stringify(said);
      const { label, draft, expected } = this.#silent.get(said.id) ?? {};
      if (!draft) problems.push(`an answer to nothing: ${text.slice(0, 200)}`);
      else
        problems.push(
          ...judge(draft.message, expected!, { kind: 'answered', text }).map((one) => `${label} → ${one}`),
        );
    }
    this.#silent.clear();
    return problems;
  }

  finish(): Promise<string[]> {
    return this.#stage.finish();
  }

  /** News for which nobody has asked is as wrong as a line that is not JSON-RPC. */
  protected override hear(message: Loose): boolean {
    const id = message.params?._meta?.[subscriptionIdKey];
    if (message.method === acknowledged) this.#subscriptions.add(id);
    else if (message.method !== undefined) {
      this.news.push(message);
      if (!this.#subscriptions.has(id)) this.strays.push(JSON.stringify(message));
    }
    const isAwaited = super.hear(message);
    if (message.method === undefined && !isAwaited) this.#late.push(message);
    return isAwaited;
  }
}
