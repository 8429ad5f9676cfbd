/**
 * Observes the simulation from outside and checks the guarantees: commits, started steps, and the promises and answers
 * to callers. It uses none of the engine's rules.
 */
import { createHash } from 'node:crypto';
import type { TaskEvent } from '../src/model/event.ts';
import type { Task, TaskId } from '../src/model/task.ts';
import type { CommittedChange } from '../src/ports/store.ts';
import { Vault } from '../src/stores/sqlite/encryption/vault.ts';
import { Rows } from '../src/stores/sqlite/tasks/rows.ts';
import { brokenInvariants } from '../src/testing/invariants.ts';
import type { SimDatabase } from './database.ts';
import { Environment } from './environment.ts';
import { hurryMs } from './handler.ts';
import { type Expected, expectedOf, type Program } from './programs.ts';
import type { SimProcess, World } from './world.ts';

/** A claim of a worker, and when it was last renewed. */
interface Claim {
  readonly epoch: number;
  readonly worker: string;
  renewedAt: number;
}

/** Observations about a task that are not stored. */
interface Known {
  /** How often it was created. */
  readonly lives: number;
  /** The last started attempt of each step. */
  readonly attempts: Map<string, number>;
  /** Questions that were answered or withdrawn. */
  readonly settled: Set<string>;
  claim?: Claim;
  version: number;
  /** The furthest started part of its program. */
  furthest: number;
  deaths: number;
  hasRecorded: boolean;
  isDone: boolean;
  isRemoved: boolean;
}

const endsClaim = new Set<TaskEvent['type']>(['parked', 'released', 'rested', 'stuck', 'finished', 'held']);

export class Oracles {
  readonly violations: string[] = [];
  readonly trace: string[] = [];
  readonly #world: World;
  readonly environment: Environment;
  readonly #database: SimDatabase;
  readonly #rows: Rows;
  readonly #hash = createHash('sha256');
  readonly tasks = new Map<TaskId, Task>();
  readonly #known = new Map<TaskId, Known>();
  readonly #startedAttempts = new Set<string>();
  /** By the name of their program. */
  readonly #expected = new Map<string, Expected>();
  readonly #programs = new Map<TaskId, string>();
  readonly #cancelled = new Set<string>();
  readonly #givenUp = new Set<string>();
  readonly #plain = new Set<string>();
  readonly #acknowledged: {
    readonly id: TaskId;
    readonly what: string;
    readonly holds: (task: Task) => boolean;
  }[] = [];
  readonly #received = new Map<SimProcess, Map<TaskId, number>>();
  /** Called after each commit. */
  onCommit: () => void = () => {};
  /** Called when a task starts to play a program, or replays it. */
  onPlay: (id: TaskId, program: string) => void = () => {};
  readonly #corrupt = new Set<TaskId>();
  /** No clock is changed or drifts. */
  areClocksRight = true;
  /** The number of running step attempts, by task and process. */
  readonly #inFlight = new Map<string, number>();
  #position = 0;
  commits = 0;

  constructor(world: World, database: SimDatabase) {
    this.#world = world;
    this.environment = new Environment(world, this);
    this.#database = database;
    this.#rows = new Rows(database.outside, new Vault(database.outside, undefined, 'outside'));
  }

  get hash(): string {
    return this.#hash.copy().digest('hex').slice(0, 16);
  }

  note(line: string): void {
    this.trace.push(`${String(this.#world.time).padStart(9)}  ${line}`);
  }

  complain(what: string): void {
    if (this.violations.includes(what)) return;
    this.violations.push(what);
    this.note(`VIOLATION  ${what}`);
  }

  // --- Commits --------------------------------------------------------------------------------------------

  /** Call after every committed transaction. */
  committed(): void {
    const touched = new Set<TaskId>();
    for (const change of this.#rows.commitsAfter(this.#position, 1_000_000)) {
      this.#position = change.seq;
      this.commits++;
      this.#observe(change);
      touched.add(change.rootId);
    }
    for (const root of touched) this.#checkTree(root);
    this.onCommit();
  }

  #observe({ taskId, version, at, events }: CommittedChange): void {
    const line = `${this.nameOf(taskId)} v${version} ${JSON.stringify(events)}`.replace(/~\d+/g, '');
    this.#hash.update(`${this.#world.time} ${at} ${taskId} ${line}\n`);
    this.note(line);
    const known = this.#knownOf(taskId, version);
    const isRemoval = events.some(({ type }) => type === 'removed');
    // If other commits share a transaction with the removal, only the removal remains.
    const isEndUnseen = isRemoval && version > known.version + 1;
    if (version !== known.version + 1 && !isEndUnseen)
      this.complain(`${this.nameOf(taskId)}: version ${version} follows version ${known.version}`);
    if (known.isDone && !isRemoval) this.complain(`${this.nameOf(taskId)}: changed after it was done`);
    if (known.isRemoved) this.complain(`${this.nameOf(taskId)}: changed after it was removed`);
    known.version = version;
    const before = this.tasks.get(taskId);
    if (isRemoval) {
      known.isRemoved = true;
      if (!known.isDone && !isEndUnseen) this.complain(`${this.nameOf(taskId)}: was purged alive`);
      this.tasks.delete(taskId);
      return;
    }
    for (const event of events) this.#follow(taskId, known, event);
    const task = this.#rows.get(taskId);
    if (!task) return;
    if (before && task.epoch < before.epoch)
      this.complain(`${this.nameOf(taskId)}: went back to an older claim`);
    this.tasks.set(taskId, task);
    if (task.phase === 'done') this.#judgeEnd(task, known);
  }

  /** A task that is created again with the same key has the same id, but nothing else of the removed one. */
  #knownOf(id: TaskId, version: number): Known {
    const before = this.#known.get(id);
    if (before && !(before.isRemoved && version === 1)) return before;
    const known: Known = {
      attempts: new Map(),
      settled: new Set(),
      lives: (before?.lives ?? 0) + 1,
      version: 0,
      furthest: -1,
      deaths: 0,
      hasRecorded: false,
      isDone: false,
      isRemoved: false,
    };
    this.#known.set(id, known);
    for (const versions of this.#received.values()) versions.delete(id);
    return known;
  }

  #follow(id: TaskId, known: Known, event: TaskEvent): void {
    if (event.type === 'claimed') {
      const { epoch, worker } = event;
      const { claim } = known;
      if (claim) this.#judgeTakeOver(id, claim, worker);
      known.claim = { epoch, worker, renewedAt: this.#world.time };
    } else if (event.type === 'rested') {
      const { claim } = known;
      known.deaths++;
      if (claim) this.#judgeTakeOver(id, claim, 'a resting task');
      delete known.claim;
    } else if (endsClaim.has(event.type)) delete known.claim;
    if (event.type === 'recorded') known.hasRecorded = true;
    if (event.type === 'finished') known.isDone = true;
    if (event.type !== 'answered' && event.type !== 'withdrawn') return;
    if (known.settled.has(event.key)) this.complain(`${this.nameOf(id)}: ${event.key} was settled twice`);
    known.settled.add(event.key);
  }

  /** A live task is claimed again only after a kill, a stop, a release, or no renewal for as long as the lease. */
  #judgeTakeOver(id: TaskId, { worker, renewedAt }: Claim, by: string): void {
    const process = this.#database.processOf(worker);
    if (process && !process.isDead && this.#inFlight.get(`${id} ${process.name}`))
      if (by === worker)
        return this.complain(`${this.nameOf(id)}: ${worker} claimed a task whose step it runs`);
    if (!process || !this.#database.isOpen(worker)) return;
    const silentMs = this.#world.time - renewedAt;
    if (silentMs < claimMs)
      this.complain(`${this.nameOf(id)}: ${by} took it from ${worker}, silent for ${silentMs} ms only`);
  }

  /** A renewal of these claims was committed. */
  renewed(worker: string, ids: Iterable<TaskId>): void {
    for (const id of ids) {
      const claim = this.#known.get(id)?.claim;
      if (claim?.worker === worker) claim.renewedAt = this.#world.time;
    }
  }

  #checkTree(rootId: TaskId): void {
    const tree = new Map<TaskId, Task>();
    for (const [id, task] of this.tasks) if (task.rootId === rootId) tree.set(id, task);
    for (const broken of brokenInvariants(tree)) this.complain(broken);
  }

  #judgeEnd(task: Task, { deaths }: Known): void {
    if (task.phase !== 'done') return;
    if (task.tool === 'hurry') return this.#judgeHurry(task);
    const name = this.#programs.get(task.id);
    const expected = name === undefined ? undefined : this.#expected.get(name);
    if (!expected) return;
    const { outcome } = task;
    const complain = (what: string) => this.complain(`${this.nameOf(task.id)}: ${what}`);
    switch (outcome.kind) {
      case 'result': {
        const { content } = outcome.value as { content: readonly { text: string }[] };
        const text = content[0]?.text;
        if (outcome.isError !== 'fails' in expected)
          complain(`ended ${outcome.isError ? 'in error' : 'well'}: ${text}`);
        else if ('result' in expected && text !== expected.result)
          complain(`gave ${text} instead of ${expected.result}`);
        break;
      }
      case 'cancelled':
        if (!this.#isCancelled(task)) complain('was cancelled by nobody');
        break;
      case 'failure':
        if (task.deadlineAt !== null && task.finishedAt >= task.deadlineAt) break;
        if (deaths >= 3) break;
        complain(`failed: ${outcome.message}`);
        break;
      default:
        complain(`ended as ${outcome.kind}`);
    }
  }

  /** The task must end at its deadline, not before, unless it is cancelled. */
  #judgeHurry({ id, outcome, createdAt, finishedAt }: Task & { phase: 'done' }): void {
    if (outcome.kind === 'cancelled') return;
    if (outcome.kind !== 'failure') this.complain(`${this.nameOf(id)}: ended as ${outcome.kind}`);
    const ms = finishedAt - createdAt;
    if (this.areClocksRight && ms < hurryMs)
      this.complain(`${this.nameOf(id)}: met its deadline of ${hurryMs} ms after ${ms} ms`);
  }

  #isCancelled(task: Task): boolean {
    for (
      let one: Task | undefined = task;
      one;
      one = one.parentId === undefined ? undefined : this.tasks.get(one.parentId)
    )
      if (this.#cancelled.has(one.id) || this.#cancelled.has(this.#programs.get(one.id) ?? '')) return true;
    return false;
  }

  // --- Handlers -------------------------------------------------------------------------------------------

  /** A task starts to play a program, or replays it. */
  plays(id: TaskId, program: Program, version: string): void {
    if (this.#world.current.isDead) return;
    const task = this.tasks.get(id);
    if (task && task.toolVersion !== version)
      this.complain(`${this.nameOf(id)}: of version ${task.toolVersion}, played by ${version}`);
    this.#programs.set(id, program.name);
    if (!this.#expected.has(program.name)) this.#expected.set(program.name, expectedOf(program));
    this.onPlay(id, program.name);
  }

  /** A step attempt starts in the current process. Call the returned function at its end. */
  stepBegan(id: TaskId, pass: number, part: number, step: string, attempt: number): () => void {
    const nothing = () => {};
    if (this.#world.current.isDead) return nothing;
    const what = `${this.nameOf(id)}: step ${step}, attempt ${attempt}`;
    this.note(`${what} begins in ${this.#world.current.name}`);
    const key = `${id} ${this.#known.get(id)?.lives} ${pass} ${step} ${attempt}`;
    if (this.#startedAttempts.has(key)) this.complain(`${what}: began twice under claim ${pass}`);
    this.#startedAttempts.add(key);
    const known = this.#known.get(id);
    if (!known) {
      this.complain(`${what}: began before its task was committed`);
      return nothing;
    }
    if (part < known.furthest) this.complain(`${what}: began again after what follows it`);
    known.furthest = Math.max(known.furthest, part);
    const last = known.attempts.get(step) ?? 1;
    if (attempt < last) this.complain(`${what}: began again after attempt ${last}`);
    known.attempts.set(step, attempt);
    const running = `${id} ${this.#world.current.name}`;
    this.#inFlight.set(running, (this.#inFlight.get(running) ?? 0) + 1);
    return () => void this.#inFlight.set(running, this.#inFlight.get(running)! - 1);
  }

  hasRecorded(id: TaskId): boolean {
    return this.#known.get(id)?.hasRecorded ?? false;
  }

  // --- Feeds ----------------------------------------------------------------------------------------------

  /** A process receives a change. */
  received(process: SimProcess, { taskId, version, events }: CommittedChange): void {
    const versions = this.#received.get(process) ?? new Map<TaskId, number>();
    this.#received.set(process, versions);
    // A removal may arrive again when a new task has the same id.
    if (events.some(({ type }) => type === 'removed')) {
      if (version <= this.versionOf(taskId))
        versions.set(taskId, Math.max(version, versions.get(taskId) ?? 0));
      return;
    }
    const last = versions.get(taskId);
    // For a removed task, nothing but the removal arrives.
    if (last !== undefined && version > last + 1 && !this.#known.get(taskId)?.isRemoved)
      this.complain(`${this.nameOf(taskId)}: ${process.name} heard of version ${version} after ${last}`);
    versions.set(taskId, Math.max(version, last ?? 0));
  }

  /** The stored record of this task is corrupt, or was restored. */
  setCorrupt(id: TaskId, isCorrupt: boolean): void {
    this.note(`${this.nameOf(id)}: its record is ${isCorrupt ? 'corrupt' : 'restored'}`);
    if (isCorrupt) this.#corrupt.add(id);
    else this.#corrupt.delete(id);
  }

  isCorrupt(id: TaskId): boolean {
    return this.#corrupt.has(id);
  }

  // --- Promises -------------------------------------------------------------------------------------------

  /** A caller received this acknowledgement: it must hold for as long as the task is kept. */
  acknowledged(id: TaskId, what: string, holds: (task: Task) => boolean = () => true): void {
    if (this.#world.current.isDead) return;
    this.note(`${this.nameOf(id)}: ${what}`);
    this.#acknowledged.push({ id, what, holds });
  }

  /** Somebody may have cancelled this task, or the task of this program. */
  mayCancel(what: TaskId | string): void {
    this.#cancelled.add(what);
  }

  /** A plain client calls this program. That client itself checks the result. */
  isPlain(program: string): void {
    this.#plain.add(program);
  }

  /** Nobody waits for the task of this program or answers its questions. */
  isGivenUp(program: string, why: string): void {
    this.note(`${program}: ${why}`);
    this.#givenUp.add(program);
  }

  /** Tasks that should have ended but have not. */
  *unfinished(): Generator<Task> {
    for (const task of this.tasks.values())
      if (task.phase !== 'done' && !this.#isAbandoned(task.rootId)) yield task;
  }

  /**
   * The caller left, or the questions went to a plain client that is gone: only the same session could join the call
   * and answer. While a task of the tree runs or is due, the tree is still active.
   */
  #isAbandoned(rootId: TaskId): boolean {
    const program = this.#programs.get(rootId) ?? '';
    if (!this.#givenUp.has(program) && !this.#plain.has(program)) return false;
    let isWaiting = false;
    for (const task of this.tasks.values()) {
      if (task.rootId !== rootId || task.phase === 'done') continue;
      if (task.worker !== undefined || task.wakeAt !== null) return false;
      isWaiting ||= task.phase === 'waiting';
    }
    return isWaiting;
  }

  /** The final checks, after all faults. */
  judge(): void {
    this.committed();
    for (const { id, what, holds } of this.#acknowledged) {
      const task = this.tasks.get(id);
      if (!task && !this.#known.get(id)?.isRemoved)
        this.complain(`${this.nameOf(id)}: ${what}, but is missing`);
      else if (task && !holds(task)) this.complain(`${this.nameOf(id)}: ${what}, but that is not true`);
    }
    for (const [process, versions] of this.#received)
      if (!process.isDead)
        for (const [id, version] of versions)
          if (version < this.versionOf(id))
            this.complain(
              `${this.nameOf(id)}: ${process.name} heard of version ${version} last, of ${this.versionOf(id)}`,
            );
    for (const task of this.unfinished())
      this.complain(`${this.nameOf(task.id)}: has not ended (${stateOf(task)})`);
  }

  nameOf(id: TaskId): string {
    const name = this.#programs.get(id);
    return name === undefined ? id.slice(0, 6) : `${name}#${id.slice(0, 4)}`;
  }

  versionOf(id: TaskId): number {
    return this.#known.get(id)?.version ?? 0;
  }

  programOf(id: TaskId): string | undefined {
    return this.#programs.get(id);
  }

  /** Whether a task has started to play this program. */
  hasPlayed(program: string): boolean {
    return this.#expected.has(program);
  }
}

/** The lease of workers: short, because waiting for it to expire costs simulation time. */
export const leaseMs = 3_000;

/** Others wait three leases before they take a task from a live process; a clock may be two percent fast. */
const claimMs = leaseMs * 3 * 0.97;

function stateOf(task: Task): string {
  const open = task.inputs.filter(({ state }) => state === 'open').map(({ key }) => key);
  const worker = 'worker' in task ? task.worker?.name : undefined;
  return [
    task.phase,
    worker && `worker ${worker}`,
    open.length > 0 && `asks ${open}`,
    task.blocked && `stuck: ${task.blocked.message}`,
  ]
    .filter(Boolean)
    .join(', ');
}
