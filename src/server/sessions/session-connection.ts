/**
 * A connection of a session, on which the server sends status, progress and questions. A connection follows each task
 * tree that it created or requested, until the tree ends.
 */

import { payloadOf } from '../../dialects/2025-11-25/dialect.ts';
import { toInputRequest } from '../../dialects/2026-07-28/input.ts';
import { type CollapsedQuestion, questionsOf } from '../../dialects/collapse.ts';
import { wireProgress } from '../../dialects/dialect.ts';
import { requestLeaseMs } from '../../engine/rules/publication.ts';
import type { TaskService, TaskTree } from '../../engine/task-service.ts';
import { hasCode, Refusal, Unavailable } from '../../model/errors.ts';
import { newId } from '../../model/id.ts';
import type { InputResponse } from '../../model/input.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import type { Progress, TaskId } from '../../model/task.ts';
import type { CommittedChange } from '../../ports/store.ts';
import { pause, runtime, type Timer } from '../../runtime/runtime.ts';
import { actorOf, noteRead, noteReadIn } from '../../task-methods/audit-notes.ts';
import type { Caller } from '../../task-methods/caller.ts';
import { authorizedTree, topOf } from '../../task-methods/task-methods.ts';
import { untilDone } from '../../task-methods/waiting.ts';
import { askAsTask } from '../calls/questions-as-tasks.ts';
import { RequestAborted } from '../calls/tool-call.ts';
import { withQuestionRef } from '../sdk/request-ids.ts';
import type { Streams } from '../sdk/streams.ts';

/** A stream to the client that can carry a request and receives its answer. */
export interface Channel {
  readonly name: string;
  /** Fires when the stream is closed. */
  readonly closed: AbortSignal;
  request(request: { method: string; params: JsonObject }, signal: AbortSignal): Promise<JsonObject>;
}

export class SessionConnection {
  readonly #requests: TaskService;
  readonly #streams: Streams;
  /** By task and dialect. */
  readonly #notifiers = new Map<string, TaskNotifier>();
  readonly #stopListening: () => void;

  constructor(requests: TaskService, streams: Streams) {
    this.#requests = requests;
    this.#streams = streams;
    this.#stopListening = streams.onOpen(() => {
      for (const notifier of this.#notifiers.values()) notifier.update();
    });
  }

  /** Reports a task tree from now on, in the dialect of the listener. */
  follow(rootId: TaskId, listener: Listener): TaskNotifier {
    const key = `${listener.dialect.revision} ${rootId}`;
    return this.#notifiers.get(key) ?? this.#begin(key, rootId, listener);
  }

  /** Asks the questions of a task tree on one stream, independent of all other notifications on this connection. */
  ask(rootId: TaskId, listener: Listener, channel: Channel): () => void {
    const notifier = this.#begin(newId(), rootId, listener);
    notifier.offer(channel);
    return () => notifier.stop();
  }

  #begin(key: string, rootId: TaskId, listener: Listener): TaskNotifier {
    const notifier = new TaskNotifier(this.#requests, this.#streams, rootId, listener, () =>
      this.#notifiers.delete(key),
    );
    this.#notifiers.set(key, notifier);
    return notifier;
  }

  close(): void {
    this.#stopListening();
    for (const notifier of [...this.#notifiers.values()]) notifier.stop();
  }
}

// --- One task tree -----------------------------------------------------------------------------------------

/** The receiver of notifications: its dialect and capabilities. */
export type Listener = Pick<Caller, 'dialect' | 'sender' | 'session'>;

/** A question, and the task on which the client sees it. */
interface ShownQuestion extends CollapsedQuestion {
  readonly on: TaskTree;
}

/** A question on another connection or process may become free without an event, when the lease on it expires. */
const retryMs = 1_000;
/**
 * On the standalone stream a question may overtake the answer that contains the task's id, and clients refuse questions
 * about unknown tasks. This delay gives the client time to read the answer.
 */
const standaloneDelayMs = 500;
/** After this many invalid answers the handler receives no answer. */
const badAnswersAllowed = 3;

/**
 * Reports one task tree to a client: as one task, or as many if the client supports subtasks. A question is on at most
 * one stream at a time: a claim in the store prevents other connections and processes from asking it. If a stream closes
 * before the answer, the question is released and asked again on the next stream.
 */
class TaskNotifier {
  readonly #requests: TaskService;
  readonly #streams: Streams;
  readonly #rootId: TaskId;
  readonly #listener: Listener;
  readonly #onStop: () => void;
  readonly #unwatch: () => void;
  /** Streams of `tasks/result`. Questions prefer them to the standalone stream. */
  readonly #results = new Set<Channel>();
  /** Questions that are on a stream, by task and key. Abort one to withdraw it. */
  readonly #live = new Map<string, AbortController>();
  readonly #badAnswers = new Map<string, number>();
  /** The last status sent for each task. Clients assume `working` until the first one. */
  readonly #sentStatus = new Map<TaskId, string>();
  /** The progress token, if the call that created the task sent one in this session. */
  #progressToken: string | number | undefined;
  #top: TaskTree | undefined;
  #lastProgress = Number.NEGATIVE_INFINITY;
  #isUpdating = false;
  #isOutdated = false;
  #timer: Timer | undefined;
  #standaloneDelay: Timer | undefined;
  #isStopped = false;

  constructor(
    requests: TaskService,
    streams: Streams,
    rootId: TaskId,
    listener: Listener,
    onStop: () => void,
  ) {
    this.#requests = requests;
    this.#streams = streams;
    this.#rootId = rootId;
    this.#listener = listener;
    this.#onStop = onStop;
    this.#unwatch = requests.watch(rootId, (change) => this.#onChange(change));
    this.#standaloneDelay = runtime.setTimeout(() => {
      this.#standaloneDelay = undefined;
      this.update();
    }, standaloneDelayMs);
    this.update();
  }

  /** Asks questions on this stream too, until the returned function is called. */
  offer(channel: Channel): () => void {
    this.#results.add(channel);
    this.update();
    return () => {
      this.#results.delete(channel);
      this.update();
    };
  }

  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#unwatch();
    runtime.clearTimeout(this.#timer);
    runtime.clearTimeout(this.#standaloneDelay);
    for (const live of this.#live.values()) live.abort();
    this.#onStop();
  }

  /** Reads the tree and sends the client everything that is new. */
  update(): void {
    this.#isOutdated = true;
    if (!this.#isUpdating) void this.#updates();
  }

  async #updates(): Promise<void> {
    this.#isUpdating = true;
    try {
      while (this.#isOutdated && !this.#isStopped) {
        this.#isOutdated = false;
        const trees = await this.#trees();
        const [top] = trees;
        if (!top) return this.stop();
        this.#top = top;
        const { progress } = top.root.origin;
        if (progress?.session === this.#streams.name) this.#progressToken = progress.token;
        // Subtasks end before their parents, and are reported before them.
        for (const tree of trees.toReversed()) await this.#sendStatus(tree);
        await this.#putQuestions(trees);
        if (top.root.phase === 'done' && this.#results.size === 0) return this.stop();
      }
    } catch {
      // The store is not available: try again later, even without a change.
      this.#updateLater();
    } finally {
      // In the same turn of the event loop as the last check of the flag. Otherwise an update in between would be lost.
      this.#isUpdating = false;
    }
  }

  /** The reported tasks, the root first. */
  async #trees(): Promise<TaskTree[]> {
    if (this.#listener.sender.knowsSubtasks) return this.#requests.allLinked(this.#rootId);
    const tree = await this.#requests.tree(this.#rootId);
    return tree ? [tree] : [];
  }

  #onChange({ taskId, events }: CommittedChange): void {
    for (const event of events)
      if (taskId === this.#rootId && event.type === 'reported' && event.progress)
        this.#sendProgress(event.progress);
    this.update();
  }

  // --- Status and progress --------------------------------------------------------------------------------

  async #sendStatus(tree: TaskTree): Promise<void> {
    const notification = this.#listener.dialect.notification(tree, this.#requests.now);
    if (!notification) return;
    const { id } = tree.root;
    const status = notification.params.status as string;
    if (status === (this.#sentStatus.get(id) ?? 'working')) return;
    this.#sentStatus.set(id, status);
    await this.#streams.notify(notification).catch(() => {});
    noteReadIn(notification.params, this.#requests, tree, this.#listener);
  }

  #sendProgress(progress: Progress): void {
    // MCP requires progress to increase, but a handler may report anything.
    if (this.#progressToken === undefined || progress.done <= this.#lastProgress || !this.#top) return;
    this.#lastProgress = progress.done;
    const _meta = this.#listener.dialect.related(this.#top);
    const params = { progressToken: this.#progressToken, ...wireProgress(progress), _meta };
    void this.#streams.notify({ method: 'notifications/progress', params }).catch(() => {});
  }

  // --- Questions ------------------------------------------------------------------------------------------

  async #putQuestions(trees: readonly TaskTree[]): Promise<void> {
    if (!this.#listener.dialect.pushesQuestions) return;
    const live = trees.filter(({ root }) => root.phase !== 'done');
    // Ask only what the client supports: the handler would take its refusal for an answer.
    const { answers } = this.#listener.sender;
    const questions = live.flatMap((on) =>
      questionsOf(on).flatMap((question) =>
        answers.includes(question.request.kind) ? [{ ...question, on }] : [],
      ),
    );
    const open = new Map(questions.map((question) => [idOf(question), question]));
    for (const [id, live] of this.#live) if (!open.has(id)) live.abort();
    let isElsewhere = false;
    for (const [id, question] of open) {
      const channel = this.#channel();
      if (this.#live.has(id) || !channel) continue;
      const abort = new AbortController();
      this.#live.set(id, abort);
      let isOurs = false;
      try {
        isOurs = await this.#requests.deliver(question.taskId, question.ownKey, channel.name);
      } finally {
        if (!isOurs) this.#live.delete(id);
      }
      if (isOurs) void this.#ask(id, question, channel, abort.signal);
      else isElsewhere = true;
    }
    if (isElsewhere) this.#updateLater();
  }

  #updateLater(): void {
    runtime.clearTimeout(this.#timer);
    if (!this.#isStopped) this.#timer = runtime.setTimeout(() => this.update(), retryMs);
  }

  #channel(): Channel | undefined {
    for (const channel of this.#results) if (!channel.closed.aborted) return channel;
    return this.#standaloneDelay ? undefined : this.#streams.standalone();
  }

  async #ask(id: string, question: ShownQuestion, channel: Channel, withdrawn: AbortSignal): Promise<void> {
    const { taskId, ownKey } = question;
    const lease = runtime.setInterval(() => {
      void this.#requests.deliver(taskId, ownKey, channel.name).catch(() => {});
    }, requestLeaseMs / 3);
    try {
      const answer = await askAsTask(channel, this.#wire(question, channel), question, {
        requests: this.#requests,
        listener: this.#listener,
        signal: AbortSignal.any([withdrawn, channel.closed]),
        streams: this.#streams,
      });
      await this.#storeAnswer(question, answer as InputResponse, withdrawn);
    } catch (error) {
      await this.#handleFailure(question, channel, withdrawn, error).catch(() => {});
    } finally {
      runtime.clearInterval(lease);
      this.#live.delete(id);
      if (!this.#isStopped) this.update();
    }
  }

  /** Stores an answer, and retries until the store is available, so that no user has to answer twice. */
  async #storeAnswer(
    { taskId, ownKey }: CollapsedQuestion,
    answer: InputResponse,
    withdrawn: AbortSignal,
  ): Promise<void> {
    for (;;)
      try {
        const answers = new Map([[taskId, { [ownKey]: answer }]]);
        return await this.#requests.answer(this.#rootId, answers, actorOf(this.#listener));
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error;
        await pause(retryMs, withdrawn);
      }
  }

  async #handleFailure(
    question: CollapsedQuestion,
    channel: Channel,
    withdrawn: AbortSignal,
    error: unknown,
  ): Promise<void> {
    const { taskId, ownKey, request } = question;
    const isLeft = withdrawn.aborted || channel.closed.aborted || this.#isStopped;
    const isBad = !isLeft && hasCode(error, 'BAD_ANSWER');
    const badAnswers = (this.#badAnswers.get(idOf(question)) ?? 0) + Number(isBad);
    this.#badAnswers.set(idOf(question), badAnswers);
    if (isBad && badAnswers >= badAnswersAllowed) return this.#requests.withdraw(taskId, ownKey);
    // Release the question so that it is asked again if it is still open.
    if (isLeft || isBad || error instanceof Refusal || error instanceof Unavailable)
      return this.#requests.undeliver(taskId, ownKey, channel.name);
    // The client refused: it cannot ask its user, or the user did not want to be asked.
    const isForm = request.kind === 'form' || request.kind === 'url';
    if (!isForm) return this.#requests.withdraw(taskId, ownKey);
    await this.#storeAnswer(question, { action: 'cancel' }, withdrawn);
  }

  #wire(
    { request, on, key }: ShownQuestion,
    { name: stream }: Channel,
  ): { method: string; params: JsonObject } {
    const { method, params } = toInputRequest(request) as { method: string; params?: JsonObject };
    const meta = isJsonObject(params?._meta) ? params._meta : undefined;
    const related = this.#listener.dialect.related(on, meta);
    const _meta = withQuestionRef(related, { taskId: on.root.id, key, stream }) as JsonObject;
    return { method, params: { ...params, _meta } };
  }
}

function idOf({ taskId, ownKey }: CollapsedQuestion): string {
  return `${taskId}/${ownKey}`;
}

// --- tasks/result ------------------------------------------------------------------------------------------

/** Waits for the outcome of a task. During the wait, questions of its tree may be asked on the stream of this request. */
export async function taskResult(
  requests: TaskService,
  caller: Caller,
  params: JsonObject,
  { connection, channel, signal }: { connection: SessionConnection; channel: Channel; signal: AbortSignal },
): Promise<JsonObject> {
  const { related } = caller.dialect;
  const tree = await authorizedTree(requests, caller, params, 'tasks/result');
  const given = (done: TaskTree) => {
    noteRead(requests, done.root, caller);
    return payloadOf(done, related);
  };
  const already = given(tree);
  if (already) return already;
  const withdraw = connection.follow(topOf(tree).id, caller).offer(channel);
  try {
    await untilDone(requests, tree.root, { signal: AbortSignal.any([signal, channel.closed]) });
  } finally {
    withdraw();
  }
  const payload = given(await authorizedTree(requests, caller, params, 'tasks/result'));
  if (!payload) throw new RequestAborted();
  return payload;
}
