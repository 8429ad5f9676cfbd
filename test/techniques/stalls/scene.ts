/** Worker processes on one store, and tasks that their steps hold until they are released. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { openStore } from '../../../scripts/chaos/cluster/store.ts';
import { createTasks, type LogEntry, type Outcome, type TaskId, type Tasks } from '../../../src/index.ts';
import { Commanded } from '../../kit/child.ts';
import { temporaryFolder } from '../../kit/lifetime.ts';
import { until } from '../../kit/until.ts';
import { freshDatabase } from '../../postgres/database.ts';
import { type Returned, readLines, releaseFile, type StepLine } from './step-lines.ts';
import { stallTools } from './tools.ts';
import type { Commands, Said, WorkerSettings } from './worker.ts';

export type StoreName = 'SQLite' | 'Postgres';
export type SceneSettings = Pick<WorkerSettings, 'work' | 'maxCrashes' | 'clockMs'>;

const preload = import.meta.resolve('../chaos/movable-clock.ts');
/** Generous: the machine may be busy with other tests. */
const patienceMs = 60_000;
const mostHeld = 60;

export class Worker extends Commanded<Commands, Said> {
  readonly log: LogEntry[] = [];
  readonly #ready = Promise.withResolvers<void>();
  readonly ready = this.#ready.promise;

  constructor(settings: WorkerSettings, heard: (said: Said) => void = () => {}) {
    const hear = (said: Said) => {
      if (said.kind === 'ready') this.#ready.resolve();
      if (said.kind === 'log') this.log.push(said.entry);
      heard(said);
    };
    super('techniques/stalls/worker.ts', settings, hear, { imports: [preload] });
  }

  /** Stops the process with SIGSTOP for so long. */
  async stopFor(ms: number): Promise<void> {
    this.stop();
    await pause(ms);
    this.go();
  }

  /** Stops its event loop for so long, and nothing else of the process. */
  async blockFor(ms: number): Promise<void> {
    void this.do('block', ms);
    await pause(ms);
  }
}

export class Scene implements AsyncDisposable {
  readonly tasks: Tasks;
  readonly tools: ReturnType<typeof stallTools>;
  readonly workers: Worker[] = [];
  readonly #settings: WorkerSettings;
  readonly #remove: () => Promise<void>;

  private constructor(settings: WorkerSettings, remove: () => Promise<void>) {
    this.#settings = settings;
    this.#remove = remove;
    this.tools = stallTools(settings);
    this.tasks = createTasks({ store: () => openStore(settings.store), tools: Object.values(this.tools) });
  }

  static async on(name: StoreName, settings: SceneSettings): Promise<Scene> {
    const base = temporaryFolder();
    const folder = join(base, 'steps');
    mkdirSync(folder);
    const database = name === 'Postgres' ? await freshDatabase() : undefined;
    const store = database?.url ?? `sqlite:${join(base, 'tasks.db')}`;
    return new Scene({ ...settings, folder, store }, async () => database?.remove());
  }

  async start(size: number, more: Partial<SceneSettings> = {}): Promise<readonly Worker[]> {
    const started = Array.from({ length: size }, () => this.worker(undefined, more));
    await Promise.all(started.map(({ ready }) => ready));
    return started;
  }

  worker(heard?: (said: Said) => void, more: Partial<SceneSettings> = {}): Worker {
    const worker = new Worker({ ...this.#settings, ...more }, heard);
    this.workers.push(worker);
    return worker;
  }

  async create(tool: keyof Scene['tools'], count = 1): Promise<TaskId[]> {
    const ids = [];
    for (let n = 0; n < count; n++) ids.push((await this.tasks.create(this.tools[tool])).id);
    return ids;
  }

  /** Creates tasks until each worker is in the step of one of them. */
  async holdOneInEach(workers: readonly Worker[]): Promise<TaskId[]> {
    const ids: TaskId[] = [];
    const isHolding = ({ pid }: Worker) => this.lines().some((line) => line.pid === pid);
    while (!workers.every(isHolding)) {
      if (ids.length === mostHeld) throw new Error(`Of ${mostHeld} tasks one worker got none.`);
      const [id] = await this.create('hold');
      ids.push(id!);
      await until(() => this.lines().some(({ task }) => task === id));
    }
    return ids;
  }

  release(): void {
    writeFileSync(releaseFile(this.#settings.folder), '');
  }

  lines(): StepLine[] {
    return readLines(this.#settings.folder);
  }

  /** How each task ended; undefined for one that is not done in time. */
  async outcomes(ids: readonly TaskId[], withinMs = patienceMs): Promise<Map<TaskId, Outcome | undefined>> {
    const late = pause(withinMs, undefined, { ref: false });
    const outcomes = ids.map(async (id) => [id, await Promise.race([this.tasks.outcome(id), late])] as const);
    return new Map(await Promise.all(outcomes));
  }

  /** What each task returned; undefined for one that did not end with a result in time. */
  async returned(ids: readonly TaskId[]): Promise<Map<TaskId, Returned | undefined>> {
    const outcomes = await this.outcomes(ids);
    return new Map([...outcomes].map(([id, outcome]) => [id, returnedIn(outcome)]));
  }

  async claims(ids: readonly TaskId[]): Promise<number[]> {
    return Promise.all(ids.map(async (id) => (await this.tasks.get(id))!.epoch));
  }

  /** The tasks that one worker took from another, by the logs. */
  get recovered(): TaskId[] {
    const entries = this.workers.flatMap(({ log }) => log);
    return entries.flatMap(({ event, task }) => (event === 'recovered' && task !== undefined ? [task] : []));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.kill()));
    await this.tasks.close();
    await this.#remove();
  }
}

function returnedIn(outcome: Outcome | undefined): Returned | undefined {
  if (outcome?.kind !== 'result' || outcome.isError) return undefined;
  const { content } = outcome.value as { content: readonly { text: string }[] };
  return JSON.parse(content[0]!.text);
}
