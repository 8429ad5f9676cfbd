/**
 * A connection of a session, on which the server speaks unasked: status, progress, and questions, which may have no
 * other way to the client. A connection follows the trees of tasks that it made or asked about, to their end.
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
import { known, topOf } from '../../task-methods/task-methods.ts';
import { untilDone } from '../../task-methods/waiting.ts';
import { askAsTask } from '../calls/questions-as-tasks.ts';
import { RequestAborted } from '../calls/tool-call.ts';
import { placed } from '../sdk/request-ids.ts';
import type { Streams } from '../sdk/streams.ts';

/** A stream to the client on which a request can be put and its answer awaited. */
export interface Channel {
  readonly name: string;
  /** Fires when the stream is gone. */
  readonly closed: AbortSignal;
  request(request: { method: string; params: JsonObject }, signal: AbortSignal): Promise<JsonObject>;
}

export class SessionConnection {
  readonly #requests: TaskService;
  readonly #streams: Streams;
  /** By the task, and by the dialect in which it is told of. */
  readonly #followers = new Map<string, Follower>();
  readonly #stopListening: () => void;

  constructor(requests: TaskService, streams: Streams) {
    this.#requests = requests;
    this.#streams = streams;
    this.#stopListening = streams.onOpen(() => {
      for (const follower of this.#followers.values()) follower.look();
    });
  }

  /** Tells of a tree of tasks from now on, in the words of whoever asked about it. */
  follow(rootId: TaskId, listener: Listener): Follower {
    const key = `${listener.dialect.revision} ${rootId}`;
    return this.#followers.get(key) ?? this.#begin(key, rootId, listener);
  }

  /** Puts questions of a tree of tasks on one stream, apart from everything else that is told on this connection. */
  ask(rootId: TaskId, listener: Listener, channel: Channel): () => void {
    const follower = this.#begin(newId(), rootId, listener);
    follower.offer(channel);
    return () => follower.stop();
  }

  #begin(key: string, rootId: TaskId, listener: Listener): Follower {
    const follower = new Follower(this.#requests, this.#streams, rootId, listener, () =>
      this.#followers.delete(key),
    );
    this.#followers.set(key, follower);
    return follower;
  }

  close(): void {
    this.#stopListening();
    for (const follower of [...this.#followers.values()]) follower.stop();
  }
}

// --- One tree of tasks -------------------------------------------------------------------------------------

/** In whose words a task is told of. */
export type Listener = Pick<Caller, 'dialect' | 'sender' | 'session'>;

/** A question, and the task that it is shown on. */
interface ShownQuestion extends CollapsedQuestion {
  readonly on: TaskTree;
}

/** A question that somebody else carries may come free without a word: its process died, its lease ran out. */
const lookAgainMs = 1_000;
/**
 * On the standalone stream a question may overtake the answer from which the client learns of the task, and clients
 * turn away questions about tasks that they do not know. So they get that long to read.
 */
const acquaintedMs = 500;
/** Answers that do not fit, before the handler is told that there is none. */
const badAnswersAllowed = 3;

/**
 * One tree of tasks as a connection reports it: as one task, or, if its client knows subtasks, as many. A question is
 * on at most one stream at a time: that is claimed in the store, so that no other connection or process asks the same.
 * A stream that closes before the answer came releases the question, and it is asked again on the next.
 */
class Follower {
  readonly #requests: TaskService;
  readonly #streams: Streams;
  readonly #rootId: TaskId;
  readonly #listener: Listener;
  readonly #onStop: () => void;
  readonly #unwatch: () => void;
  /** Streams of `tasks/result`, which are preferred. */
  readonly #results = new Set<Channel>();
  /** Questions that are on a stream, by task and key, with the way to take them back. */
  readonly #live = new Map<string, AbortController>();
  readonly #badAnswers = new Map<string, number>();
  /** What was last told of each task; until then, clients take it to be working. */
  readonly #toldStatus = new Map<TaskId, string>();
  /** Under which progress is told, if the call that made the task gave one in this session. */
  #progressToken: string | number | undefined;
  #top: TaskTree | undefined;
  #lastProgress = Number.NEGATIVE_INFINITY;
  #isLooking = false;
  #lookAgain = false;
  #timer: Timer | undefined;
  #acquainting: Timer | undefined;
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
    this.#unwatch = requests.watch(rootId, (notice) => this.#hear(notice));
    this.#acquainting = runtime.setTimeout(() => {
      this.#acquainting = undefined;
      this.look();
    }, acquaintedMs);
    this.look();
  }

  /** Puts questions on this stream too, until the returned function is called. */
  offer(channel: Channel): () => void {
    this.#results.add(channel);
    this.look();
    return () => {
      this.#results.delete(channel);
      this.look();
    };
  }

  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#unwatch();
    runtime.clearTimeout(this.#timer);
    runtime.clearTimeout(this.#acquainting);
    for (const live of this.#live.values()) live.abort();
    this.#onStop();
  }

  /** Sees to it that the client has been told what there is to tell. */
  look(): void {
    this.#lookAgain = true;
    if (!this.#isLooking) void this.#looks();
  }

  async #looks(): Promise<void> {
    this.#isLooking = true;
    try {
      while (this.#lookAgain && !this.#isStopped) {
        this.#lookAgain = false;
        const trees = await this.#trees();
        const [top] = trees;
        if (!top) return this.stop();
        this.#top = top;
        const { progress } = top.root.origin;
        if (progress?.session === this.#streams.name) this.#progressToken = progress.token;
        // Subtasks end before their parents, and are told of before them.
        for (const tree of trees.toReversed()) await this.#tellStatus(tree);
        await this.#putQuestions(trees);
        if (top.root.phase === 'done' && this.#results.size === 0) return this.stop();
      }
    } catch {
      // A store that cannot be used now is used later, with or without news.
      this.#lookLater();
    } finally {
      // In the same turn in which the loop saw that there was nothing more, or a call in between would be lost.
      this.#isLooking = false;
    }
  }

  /** What is told of, the root first. */
  async #trees(): Promise<TaskTree[]> {
    if (this.#listener.sender.knowsSubtasks) return this.#requests.allLinked(this.#rootId);
    const tree = await this.#requests.tree(this.#rootId);
    return tree ? [tree] : [];
  }

  #hear({ taskId, events }: CommittedChange): void {
    for (const event of events)
      if (taskId === this.#rootId && event.type === 'reported' && event.progress)
        this.#tellProgress(event.progress);
    this.look();
  }

  // --- Status and progress --------------------------------------------------------------------------------

  async #tellStatus(tree: TaskTree): Promise<void> {
    const news = this.#listener.dialect.notification(tree, this.#requests.now);
    if (!news) return;
    const { id } = tree.root;
    const status = news.params.status as string;
    if (status === (this.#toldStatus.get(id) ?? 'working')) return;
    this.#toldStatus.set(id, status);
    await this.#streams.notify(news).catch(() => {});
    noteReadIn(news.params, this.#requests, tree, this.#listener);
  }

  #tellProgress(progress: Progress): void {
    // It must grow with each notification, whatever a handler says.
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
    // Whoever cannot be asked would refuse, and the handler take that for an answer.
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
      if (isOurs) void this.#put(id, question, channel, abort.signal);
      else isElsewhere = true;
    }
    if (isElsewhere) this.#lookLater();
  }

  #lookLater(): void {
    runtime.clearTimeout(this.#timer);
    if (!this.#isStopped) this.#timer = runtime.setTimeout(() => this.look(), lookAgainMs);
  }

  #channel(): Channel | undefined {
    for (const channel of this.#results) if (!channel.closed.aborted) return channel;
    return this.#acquainting ? undefined : this.#streams.standalone();
  }

  async #put(id: string, question: ShownQuestion, channel: Channel, taken: AbortSignal): Promise<void> {
    const { taskId, ownKey } = question;
    const lease = runtime.setInterval(() => {
      void this.#requests.deliver(taskId, ownKey, channel.name).catch(() => {});
    }, requestLeaseMs / 3);
    try {
      const answer = await askAsTask(channel, this.#wire(question, channel), question, {
        requests: this.#requests,
        listener: this.#listener,
        signal: AbortSignal.any([taken, channel.closed]),
        streams: this.#streams,
      });
      await this.#keep(question, answer as InputResponse, taken);
    } catch (error) {
      await this.#unanswered(question, channel, taken, error).catch(() => {});
    } finally {
      runtime.clearInterval(lease);
      this.#live.delete(id);
      if (!this.#isStopped) this.look();
    }
  }

  /** Nobody should have to answer twice because the store could not be used at that moment. */
  async #keep(
    { taskId, ownKey }: CollapsedQuestion,
    answer: InputResponse,
    taken: AbortSignal,
  ): Promise<void> {
    for (;;)
      try {
        const answers = new Map([[taskId, { [ownKey]: answer }]]);
        return await this.#requests.answer(this.#rootId, answers, actorOf(this.#listener));
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error;
        await pause(lookAgainMs, taken);
      }
  }

  async #unanswered(
    question: CollapsedQuestion,
    channel: Channel,
    taken: AbortSignal,
    error: unknown,
  ): Promise<void> {
    const { taskId, ownKey, request } = question;
    const isLeft = taken.aborted || channel.closed.aborted || this.#isStopped;
    const isBad = !isLeft && hasCode(error, 'BAD_ANSWER');
    const badAnswers = (this.#badAnswers.get(idOf(question)) ?? 0) + Number(isBad);
    this.#badAnswers.set(idOf(question), badAnswers);
    if (isBad && badAnswers >= badAnswersAllowed) return this.#requests.withdraw(taskId, ownKey);
    // Asked again, unless it is there no longer; or the store cannot say.
    if (isLeft || isBad || error instanceof Refusal || error instanceof Unavailable)
      return this.#requests.undeliver(taskId, ownKey, channel.name);
    // The client refused: it cannot ask anybody, or nobody wanted to be asked.
    const isForm = request.kind === 'form' || request.kind === 'url';
    if (!isForm) return this.#requests.withdraw(taskId, ownKey);
    await this.#keep(question, { action: 'cancel' }, taken);
  }

  #wire(
    { request, on, key }: ShownQuestion,
    { name: stream }: Channel,
  ): { method: string; params: JsonObject } {
    const { method, params } = toInputRequest(request) as { method: string; params?: JsonObject };
    const meta = isJsonObject(params?._meta) ? params._meta : undefined;
    const related = this.#listener.dialect.related(on, meta);
    const _meta = placed(related, { taskId: on.root.id, key, stream }) as JsonObject;
    return { method, params: { ...params, _meta } };
  }
}

function idOf({ taskId, ownKey }: CollapsedQuestion): string {
  return `${taskId}/${ownKey}`;
}

// --- tasks/result ------------------------------------------------------------------------------------------

/** Waits for the outcome of a task; meanwhile questions of its tree may be put on the stream of this request. */
export async function taskResult(
  requests: TaskService,
  caller: Caller,
  params: JsonObject,
  { connection, channel, signal }: { connection: SessionConnection; channel: Channel; signal: AbortSignal },
): Promise<JsonObject> {
  const { related } = caller.dialect;
  const tree = await known(requests, caller, params, 'tasks/result');
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
  const payload = given(await known(requests, caller, params, 'tasks/result'));
  if (!payload) throw new RequestAborted();
  return payload;
}
