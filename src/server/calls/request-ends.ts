/**
 * What becomes of the task of a plain call when its request has ended. Nobody waits for these writes, so a store that
 * cannot be written now is tried again, until the server closes.
 */
import type { TaskService } from '../../engine/task-service.ts';
import { Unavailable } from '../../model/errors.ts';
import type { TaskId } from '../../model/task.ts';
import { backoffMs } from '../../runtime/backoff.ts';
import { pause } from '../../runtime/runtime.ts';
import { actorOf } from '../../task-methods/audit-notes.ts';
import type { Caller } from '../../task-methods/caller.ts';
import type { OpenRequest } from './tool-call.ts';

const backoff = { minMs: 200, maxMs: 10_000 };
const batchMs = 20;

/** Why a task was cancelled. */
const hasEnded = 'The request that this task belonged to has ended.';

type EndedRequest = Pick<OpenRequest, 'handOver' | 'join'>;

export class RequestEnds {
  readonly #requests: TaskService;
  /** The server closes its connections: the work of their calls continues. */
  readonly #isStopping: () => boolean;
  readonly #writes = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  #batch: Promise<void> | undefined;

  constructor(requests: TaskService, isStopping: () => boolean) {
    this.#requests = requests;
    this.#isStopping = isStopping;
  }

  /** Resolves when the tasks of requests that have ended are cancelled, left or removed. */
  async settled(): Promise<void> {
    this.#closing.abort();
    await this.#batch;
    while (this.#writes.size > 0) await Promise.allSettled(this.#writes);
  }

  /** The answer is on its way: what becomes of the task depends on whether it arrives. */
  async answered(id: TaskId, { handOver, join }: EndedRequest): Promise<void> {
    const fate = handOver ? await handOver.fate : 'delivered';
    if (fate === 'lost' && join) return this.#write(() => this.#requests.leave(id, join));
    await this.#together();
    const isKept = handOver?.keepMs !== undefined;
    await this.#write(() => (isKept ? this.#requests.delivered(id) : this.#requests.discard(id)));
  }

  /** Delivered answers are recorded in batches, which costs a busy store one commit instead of many. */
  #together(): Promise<void> {
    this.#batch ??= pause(batchMs, this.#closing.signal)
      .catch(() => {})
      .finally(() => {
        this.#batch = undefined;
      });
    return this.#batch;
  }

  /** An answer that names the task is on its way. If it does not arrive, a repeated call can join the task. */
  async handedOver(id: TaskId, caller: Caller, { handOver, join }: EndedRequest): Promise<void> {
    if (!handOver) return;
    const fate = await handOver.fate;
    await this.#write(async () => {
      if (fate === 'cancelled') await this.#cancel(id, caller);
      else if (fate === 'delivered') await this.#requests.confirmHandOver(id);
      else if (join) await this.#requests.leave(id, join);
    });
  }

  /** The request was cancelled, or its connection lost, before there was an answer. */
  async aborted(id: TaskId, caller: Caller, { handOver, join }: EndedRequest): Promise<void> {
    const isLost = handOver?.isLost() ?? false;
    const isStopping = this.#isStopping();
    await this.#write(async () => {
      // By now it may answer another call.
      if (join && (isLost || isStopping)) await this.#requests.leave(id, join);
      // A lost connection cancels nothing: what nobody can join continues until its process ends.
      else if (!isLost || isStopping) await this.#cancel(id, caller);
    });
  }

  /** The request was answered with an error, while its task, if there is one, may be alive. */
  async failed({ join }: EndedRequest): Promise<void> {
    if (join) await this.#write(() => this.#requests.leaveAny(join));
  }

  /** The client cancelled a request that another process may serve. */
  async cancelledElsewhere(request: string, caller: Caller): Promise<void> {
    await this.#write(() => this.#requests.cancelElsewhere(request, hasEnded, actorOf(caller)));
  }

  async #cancel(id: TaskId, caller: Caller): Promise<void> {
    const isCancelled = await this.#requests.cancel(id, hasEnded, actorOf(caller));
    // A task that was done before is of no use to another call.
    if (!isCancelled) await this.#requests.discard(id);
  }

  async #write(act: () => Promise<unknown>): Promise<void> {
    const writing = this.#persist(act);
    this.#writes.add(writing);
    try {
      await writing;
    } finally {
      this.#writes.delete(writing);
    }
  }

  async #persist(act: () => Promise<unknown>): Promise<void> {
    for (let retries = 0; ; retries++)
      try {
        await act();
        return;
      } catch (error) {
        if (!(error instanceof Unavailable) || this.#closing.signal.aborted) throw error;
        await pause(backoffMs(backoff, retries), this.#closing.signal).catch(() => {});
      }
  }
}
