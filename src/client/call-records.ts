/** What is written down of each call on its way, and which call a task belongs to. */
import type { JsonObject } from '../model/json.ts';
import { isJsonObject } from '../model/json.ts';
import type { RemoteOutcome } from '../remote-tasks/remote-outcome.ts';
import { runtime } from '../runtime/runtime.ts';
import type { CallRecord, CallRegistry } from './call-registry.ts';
import type { CallEvent } from './options.ts';

/** The answers to the questions of one call, by task and key. */
export interface CallAnswers {
  answer(at: string): JsonObject | undefined;
  remember(at: string, answer: JsonObject): void;
  forget(isMeant: (at: string) => boolean): void;
}

/** How long a call whose outcome was given to its host can still be resumed. */
const deliveredForMs = 30 * 24 * 3_600_000;
/** How far up a question's task is looked for among ours. */
const deepest = 64;

export class CallRecords {
  readonly #handles: CallRegistry;
  readonly #onEvent: ((event: CallEvent) => void) | undefined;
  /** The calls of the tasks that are pursued here, subtasks too. */
  readonly #callOf = new Map<string, string>();

  constructor(handles: CallRegistry, onEvent: ((event: CallEvent) => void) | undefined) {
    this.#handles = handles;
    this.#onEvent = onEvent;
  }

  /** What was delivered long ago need not be found any more. */
  prune(server: string): void {
    const longAgo = runtime.now() - deliveredForMs;
    for (const { id, isDelivered, createdAt } of this.#handles.list({ server }))
      if (isDelivered && createdAt < longAgo) this.#handles.delete(id);
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
      answer: (at) => {
        const answers = this.#handles.get(id)?.answers ?? {};
        return Object.hasOwn(answers, at) ? answers[at] : undefined;
      },
      remember: (at, answer) =>
        this.#change(id, (known) => ({ ...known, answers: { ...known.answers, [at]: answer } })),
      forget: (isMeant) =>
        this.#change(id, (known) => {
          const all = Object.entries(known.answers);
          const others = all.filter(([at]) => !isMeant(at));
          return all.length === others.length ? undefined : { ...known, answers: Object.fromEntries(others) };
        }),
    };
  }

  /** The answers of the call that a task belongs to, which may be a subtask that nobody has met yet. */
  async answersFor(
    taskId: string,
    server: string,
    parentOf: (taskId: string) => Promise<string | undefined>,
  ): Promise<CallAnswers | undefined> {
    let place: string | undefined = taskId;
    for (let depth = 0; place !== undefined && depth < deepest; depth++) {
      const id =
        this.#callOf.get(place) ??
        this.#handles.list({ server, onlyOpen: true }).find((record) => record.taskId === place)?.id;
      if (id !== undefined) return this.answersOf(id);
      place = await parentOf(place).catch(() => undefined);
    }
    return undefined;
  }

  // --- Tasks ----------------------------------------------------------------------------------------------

  addTask(taskId: string, { id }: CallRecord): void {
    this.#callOf.set(taskId, id);
  }

  /** Its tasks are not pursued here any more. */
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
      // A host whose log is broken shall learn of it, and its calls shall not end for it.
      queueMicrotask(() => {
        throw error;
      });
    }
  }

  #change(id: string, change: (known: CallRecord) => CallRecord | undefined): void {
    const known = this.#handles.get(id);
    const changed = known && change(known);
    if (changed) this.#handles.save(changed);
  }
}

export function toolOf({ params }: CallRecord): string | undefined {
  return isJsonObject(params) && typeof params.name === 'string' ? params.name : undefined;
}
