/** Updates the records of open calls, and maps tasks to their calls. */
import type { JsonObject } from '../model/json.ts';
import { isJsonObject } from '../model/json.ts';
import type { RemoteOutcome } from '../remote-tasks/remote-outcome.ts';
import { runtime } from '../runtime/runtime.ts';
import type { CallRecord, CallRegistry } from './call-registry.ts';
import type { CallEvent } from './options.ts';

/** The saved answers to the questions of one call. Keys contain the task id and the key of the question. */
export interface CallAnswers {
  answer(key: string): JsonObject | undefined;
  remember(key: string, answer: JsonObject): void;
  forget(matches: (key: string) => boolean): void;
}

/** How long a delivered call can be resumed, counted from its creation. */
const keepDeliveredMs = 30 * 24 * 3_600_000;
/** How many tasks are searched for a known call: the task itself and its ancestors. */
const maxDepth = 64;

export class CallRecords {
  readonly #registry: CallRegistry;
  readonly #onEvent: ((event: CallEvent) => void) | undefined;
  /** The calls of polled tasks and subtasks, by task id. */
  readonly #callOf = new Map<string, string>();

  constructor(registry: CallRegistry, onEvent: ((event: CallEvent) => void) | undefined) {
    this.#registry = registry;
    this.#onEvent = onEvent;
  }

  /** Deletes delivered records of calls that were created long ago. */
  prune(server: string): void {
    const oldest = runtime.now() - keepDeliveredMs;
    for (const { id, isDelivered, createdAt } of this.#registry.list({ server }))
      if (isDelivered && createdAt < oldest) this.#registry.delete(id);
  }

  end(record: CallRecord, ending: RemoteOutcome): void {
    this.#change(record.id, (known) => ({ ...known, ending }));
    this.log(record, ending.kind === 'result' ? 'done' : ending.kind === 'expired' ? 'lost' : ending.kind);
  }

  deliver(id: string): void {
    this.#change(id, (known) => (known.isDelivered ? undefined : { ...known, isDelivered: true }));
  }

  // --- Answers --------------------------------------------------------------------------------------------

  answersOf(id: string): CallAnswers {
    return {
      answer: (key) => {
        const answers = this.#registry.get(id)?.answers ?? {};
        return Object.hasOwn(answers, key) ? answers[key] : undefined;
      },
      remember: (key, answer) =>
        this.#change(id, (known) => ({ ...known, answers: { ...known.answers, [key]: answer } })),
      forget: (matches) =>
        this.#change(id, (known) => {
          const all = Object.entries(known.answers);
          const others = all.filter(([key]) => !matches(key));
          return all.length === others.length ? undefined : { ...known, answers: Object.fromEntries(others) };
        }),
    };
  }

  /**
   * The answers of the call that a task belongs to; undefined if no call is found. The task may be a subtask that is
   * not polled yet.
   */
  async answersFor(
    taskId: string,
    server: string,
    parentOf: (taskId: string) => Promise<string | undefined>,
  ): Promise<CallAnswers | undefined> {
    let ancestor: string | undefined = taskId;
    for (let depth = 0; ancestor !== undefined && depth < maxDepth; depth++) {
      const id =
        this.#callOf.get(ancestor) ??
        this.#registry.list({ server, onlyOpen: true }).find((record) => record.taskId === ancestor)?.id;
      if (id !== undefined) return this.answersOf(id);
      ancestor = await parentOf(ancestor).catch(() => undefined);
    }
    return undefined;
  }

  // --- Tasks ----------------------------------------------------------------------------------------------

  addTask(taskId: string, { id }: CallRecord): void {
    this.#callOf.set(taskId, id);
  }

  /** To be called when these tasks are no longer polled. */
  removeTasks(taskIds: Iterable<string>): void {
    for (const taskId of taskIds) this.#callOf.delete(taskId);
  }

  // --- Events ---------------------------------------------------------------------------------------------

  log(record: CallRecord, event: CallEvent['event'], detail?: string): void {
    const tool = toolOf(record);
    try {
      this.#onEvent?.({
        at: runtime.now(),
        handle: record.id,
        method: record.method,
        ...(tool !== undefined && { tool }),
        ...(record.taskId !== undefined && { taskId: record.taskId }),
        event,
        ...(detail !== undefined && { detail }),
      });
    } catch (error) {
      // An error in the host's log must be visible, but must not fail the call.
      queueMicrotask(() => {
        throw error;
      });
    }
  }

  #change(id: string, change: (known: CallRecord) => CallRecord | undefined): void {
    const known = this.#registry.get(id);
    const changed = known && change(known);
    if (changed) this.#registry.save(changed);
  }
}

/** The name of the tool or prompt; undefined for other requests. */
export function toolOf({ params }: CallRecord): string | undefined {
  return isJsonObject(params) && typeof params.name === 'string' ? params.name : undefined;
}
