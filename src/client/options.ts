/** What a host may say about its calls. */

import type { Draft } from '../dialects/drafts/flags.ts';
import type { Duration } from '../model/duration.ts';
import type { JsonObject } from '../model/json.ts';
import type { RemoteProgress, TreeLimits } from '../remote-tasks/remote-task.ts';
import type { PaceOptions } from '../remote-tasks/retry-loop.ts';
import type { TaskUpdate } from '../remote-tasks/task-poller.ts';
import type { CallRegistry } from './call-registry.ts';
import type { NotificationListener, RequestInterceptor } from './dispatcher.ts';
import type { AnswerQuestion, QuestionKind } from './questions/question-callback.ts';

export interface ConnectTasksOptions {
  /** Answers what tasks ask. Without it nothing can be asked, and servers are told so. */
  readonly answer?: AnswerQuestion;
  /** What it can answer. Default `['form', 'url']`. */
  readonly answers?: readonly QuestionKind[];
  /** Where handles are kept. */
  readonly registry: CallRegistry;
  /** The name under which the server's handles are kept. By default the one that it gives itself. */
  readonly server?: string;
  /** Kept with each handle, for a host that wants to know how its server is reached again. No place for secrets. */
  readonly target?: JsonObject;
  /** Drafts of tasks to be used where the server has them too: some, or `'all'`. By default none. */
  readonly drafts?: readonly Draft[] | 'all';
  /** Speak this draft, whatever else the server has. */
  readonly dialect?: 'sep-1686';
  readonly pace?: PaceOptions;
  /** How long one request may take. Default `'30s'`. */
  readonly requestTimeout?: Duration;
  /** How long a call may take that is answered without a task. Default `'10m'`. */
  readonly callTimeout?: Duration;
  /** How long a server that cannot be reached is waited for. Default `'10m'`. */
  readonly reconnectTimeout?: Duration;
  readonly limits?: TreeLimits;
  /** Of a call and all its subtasks together, in characters of JSON. Default 32 Mi. */
  readonly maxResultSize?: number;
  /** Removes a task from its server once its result is here, where the server can do that. */
  readonly deleteAfterRead?: boolean;
  /** What a model may be told of a call that goes on, where the server says nothing. */
  readonly interimText?: (tool: string) => string;
  /** Refuses tasks that were not asked for, and results where a task was, as 2025-11-25 has it. */
  readonly strict?: boolean;
  /** Makes tasks of what servers ask, where they want that. */
  readonly createTaskHost?: (about: TaskHostContext) => TaskHost;
  /** Hears of everything that happens to calls, to be logged. */
  readonly onEvent?: (event: CallEvent) => void;
}

/** What there is to know for whoever makes tasks of a server's questions. */
export interface TaskHostContext {
  opening(): { readonly protocolVersion?: unknown; readonly capabilities?: unknown };
  notify(message: { method: string; params: JsonObject }): Promise<void>;
}

export interface TaskHost {
  readonly capabilities: JsonObject;
  readonly request: RequestInterceptor;
  readonly onNotification: NotificationListener;
  close(): Promise<void>;
}

export interface CallEvent {
  readonly at: number;
  readonly handle: string;
  readonly method: string;
  readonly tool?: string;
  readonly taskId?: string;
  readonly event:
    | 'called'
    | 'resumed'
    | 'task'
    | 'done'
    | 'failed'
    | 'cancelled'
    | 'lost'
    | TaskUpdate['type'];
  readonly detail?: string;
}

export interface CallOptions {
  /** How long the task should be known, from now. A wish. */
  readonly ttl?: Duration;
  /** Stops waiting; the task goes on. */
  readonly signal?: AbortSignal;
  /** Calls with the same key are carried out once, by servers that know such keys. Made up if it is not given. */
  readonly idempotencyKey?: string;
  /**
   * Answers what this call asks, where it is certain that this call asks it: as its task, or before there is one. What
   * a server of 2025-11-25 asks by a request of its own is put to the client's `answer`.
   */
  readonly answer?: AnswerQuestion;
  /** Hears how far the call is while it is being answered; of a task, `updates()` tells. */
  readonly onProgress?: (progress: RemoteProgress) => void;
  /** If the signal ends a call that is still being answered, the server is told that it is cancelled. */
  readonly cancelOnAbort?: boolean;
  /** How long a server that cannot be reached is waited for before the call is sent. By default as the client says. */
  readonly reconnectTimeout?: Duration;
}
