/** Checks calls by plain clients: which task answers which call. */
import { joinOf, processAnswering, type Task, type TaskId } from '../src/model/task.ts';
import type { SimDatabase } from './database.ts';
import type { Oracles } from './oracles.ts';
import type { SimServer } from './servers.ts';

/** A header of plain calls: the program to play. */
export const callHeader = 'x-simulated-call';
/** A header of answers: the server. */
export const answeredBy = 'x-simulated-server';

interface Row {
  readonly id: TaskId;
  readonly answering: string | null;
}

export class PlainCalls {
  readonly #database: SimDatabase;
  readonly #witness: Oracles;
  readonly #count: (what: string) => void;
  /** By program. */
  readonly #roots = new Map<string, Set<TaskId>>();
  /** Tasks that could be joined when a call arrived, by trace of the call. */
  readonly #lostFor = new Map<string, Set<TaskId>>();
  readonly #doubled = new Set<string>();
  readonly #answered = new Map<TaskId, string | null>();
  readonly #answering;

  constructor(database: SimDatabase, witness: Oracles, count: (what: string) => void) {
    this.#database = database;
    this.#witness = witness;
    this.#count = count;
    this.#answering = database.outside.prepare('select id, answering from tasks where join_key is not null');
    witness.onCommit = () => this.#committed();
    witness.onPlay = (id, program) => this.#plays(id, program);
  }

  /** How many tasks of plain calls have played this program. */
  rootsOf(program: string): number {
    return this.#roots.get(program)?.size ?? 0;
  }

  /** Whether the task of a call can be joined. A call that arrived twice may have another task. */
  isJoinable(trace: string): boolean {
    if (this.#doubled.has(trace)) return false;
    return this.#rows().some(({ id }) => this.#witness.tasks.get(id)?.origin.trace?.traceparent === trace);
  }

  /** Whether a task of this program could be joined. */
  hasLost(program: string): boolean {
    return this.#rows().some(
      ({ id, answering }) => this.#witness.programOf(id) === program && this.#isLost(answering),
    );
  }

  isAlive(server: string): boolean {
    const process = this.#database.processOf(server);
    return process !== undefined && !process.isDead;
  }

  /** Serves a request, and records which lost calls it should join. */
  async serve(
    request: Request,
    server: SimServer,
    answer: (request: Request) => Promise<Response>,
  ): Promise<Response> {
    const program = request.headers.get(callHeader);
    if (program === null) return answer(request);
    // Both arrivals of a duplicated call have the same trace. The second is not checked, because the first may join.
    const trace = request.headers.get('traceparent')!;
    if (this.#lostFor.has(trace)) this.#doubled.add(trace);
    this.#lostFor.set(trace, new Set(this.#doubled.has(trace) ? [] : this.#lost(program, server)));
    const response = await answer(request);
    const headers = new Headers(response.headers);
    headers.set(answeredBy, server.name ?? '');
    return new Response(response.body, { status: response.status, headers });
  }

  /** Tasks of this program with a lost call that a new call to this server may join. */
  #lost(program: string, { running }: SimServer): TaskId[] {
    return this.#rows().flatMap(({ id, answering }) => {
      const task = this.#witness.tasks.get(id);
      const isLost = this.#isLost(answering);
      const isSame =
        task && task.toolVersion === running.at(-1)?.version && !this.#hasAsked(id) && this.#isReadable(id);
      return isLost && isSame && this.#witness.programOf(id) === program ? [id] : [];
    });
  }

  #hasAsked(rootId: TaskId): boolean {
    return this.#tree(rootId).some(({ inputs }) => inputs.length > 0);
  }

  #isReadable(rootId: TaskId): boolean {
    return !this.#tree(rootId).some(({ id }) => this.#witness.isCorrupt(id));
  }

  #tree(rootId: TaskId): Task[] {
    return [...this.#witness.tasks.values()].filter((task) => task.rootId === rootId);
  }

  /** True if no live process answers the call. A cancelled call is not lost: no other call joins it. */
  #isLost(answering: string | null): boolean {
    const process = answering === null ? undefined : processAnswering(answering);
    return process !== '' && (process === undefined || !this.isAlive(process));
  }

  #rows(): Row[] {
    return this.#answering.all() as unknown as Row[];
  }

  /** Checks that a task is taken only from a dead server, or from one that gave it up. */
  #committed(): void {
    const rows = this.#rows();
    for (const { id, answering: now } of rows) {
      const before = this.#answered.get(id);
      this.#answered.set(id, now);
      if (before === undefined || now === before) continue;
      // An earlier call may join first and be lost again; a later call does not wait for that.
      for (const lost of this.#lostFor.values()) lost.delete(id);
      if (now === null) continue;
      if (processAnswering(now) === '') {
        this.#count('cancelled elsewhere');
        continue;
      }
      if (!this.#isLost(before))
        this.#witness.complain(
          `${this.#witness.nameOf(id)}: ${now} took its call from ${before}, which is alive`,
        );
      this.#count('joined');
    }
  }

  #plays(id: TaskId, program: string): void {
    const task = this.#witness.tasks.get(id);
    if (!task || !joinOf(task)) return;
    const roots = this.#roots.get(program) ?? new Set();
    if (roots.has(id)) return;
    this.#roots.set(program, roots.add(id));
    const rows = new Map(this.#rows().map((row) => [row.id, row.answering]));
    for (const lost of this.#lostFor.get(task.origin.trace?.traceparent ?? '') ?? []) {
      const answering = rows.get(lost);
      // The task may have asked a question since the call arrived.
      if (
        answering !== undefined &&
        this.#isReadable(lost) &&
        !this.#hasAsked(lost) &&
        this.#isLost(answering)
      )
        this.#witness.complain(
          `${this.#witness.nameOf(id)}: created for a repeated call, although ${this.#witness.nameOf(lost)} was there to join`,
        );
    }
  }

  /** The final check: no call still waits for an answer. */
  judge(): void {
    for (const { id, answering } of this.#rows())
      if (!this.#isLost(answering) && processAnswering(answering!) !== '')
        this.#witness.complain(`${this.#witness.nameOf(id)}: ${answering} still answers its call`);
  }
}
