/**
 * Cleans up the task of a plain call after its request has ended. No caller waits for these writes, so failed writes are
 * retried until the server closes.
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

/** The reason given for the cancellation of a task. */
const hasEnded = 'The request that this task belonged to has ended.';

type EndedRequest = Pick<OpenRequest, 'handOver' | 'join'>;

export class RequestEnds {
  readonly #requests: TaskService;
  /** True while the server closes its connections. The work of their calls continues. */
  readonly #isStopping: () => boolean;
  readonly #writes = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  #batch: Promise<void> | undefined;

  constructor(requests: TaskService, isStopping: () => boolean) {
    this.#requests = requests;
    this.#isStopping = isStopping;
  }

  /** Resolves when the tasks of all ended requests are cancelled, left or removed. */
  async settled(): Promise<void> {
    this.#closing.abort();
    await this.#batch;
    while (this.#writes.size > 0) await Promise.allSettled(this.#writes);
  }

  /** The answer is being sent. Whether it arrives decides what happens to the task. */
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

  /** An answer that names the task is being sent. If it does not arrive, a repeated call can join the task. */
  async handedOver(id: TaskId, caller: Caller, { handOver, join }: EndedRequest): Promise<void> {
    if (!handOver) return;
    const fate = await handOver.fate;
    await this.#write(async () => {
      if (fate === 'cancelled') await this.#cancel(id, caller);
      else if (fate === 'delivered') await this.#requests.confirmHandOver(id);
      else if (join) await this.#requests.leave(id, join);
    });
  }

  /** The request was cancelled or its connection was lost before there was an answer. */
  async aborted(id: TaskId, caller: Caller, { handOver, join }: EndedRequest): Promise<void> {
    const isLost = handOver?.isLost() ?? false;
    const isStopping = this.#isStopping();
    await this.#write(async () => {
      // Another call may have joined the task by now.
      if (join && (isLost || isStopping)) await this.#requests.leave(id, join);
      // A lost connection cancels nothing: a task that cannot be joined continues until its process ends.
      else if (!isLost || isStopping) await this.#cancel(id, caller);
    });
  }

  /** The request was answered with an error. Its task, if there is one, may still be live. */
  async failed({ join }: EndedRequest): Promise<void> {
    if (join) await this.#write(() => this.#requests.leaveAny(join));
  }

  /** The client cancelled a request that another process may serve. */
  async cancelledElsewhere(request: string, caller: Caller): Promise<void> {
    await this.#write(() => this.#requests.cancelElsewhere(request, hasEnded, actorOf(caller)));
  }

  async #cancel(id: TaskId, caller: Caller): Promise<void> {
    const isCancelled = await this.#requests.cancel(id, hasEnded, actorOf(caller));
    // No other call can use a task that was already done.
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
