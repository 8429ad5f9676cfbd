/**
 * A call to an upstream as a durable task. Each await of the handler is a step that returns the next event of the call,
 * or a question to the caller. So after a crash the journal shows whether the call may have started, the id of the
 * upstream's task, the questions and the answers.
 */
import type { TaskContext } from '../../engine/handlers/context.ts';
import type { Schema } from '../../engine/handlers/schema.ts';
import { type DurableTool, durable } from '../../engine/handlers/tool.ts';
import { outcomeOf } from '../../engine/handlers/tool-result.ts';
import { CannotBeAsked } from '../../engine/replay/recorded-error.ts';
import { delayAfter } from '../../engine/replay/step-retry.ts';
import { newId } from '../../model/id.ts';
import { isJsonObject, type Json, type JsonObject } from '../../model/json.ts';
import type { Outcome } from '../../model/outcome.ts';
import { CancellableWait } from '../../remote-tasks/retry-loop.ts';
import type { Head } from '../../server/calls/tool-call.ts';
import { failureOfCall, resultFrom, type UpstreamOutcome } from './call-outcome.ts';
import type { Call, Upstream } from './upstream.ts';
import {
  type Conversation,
  type RemoteTaskEvent,
  UpstreamCall,
  type UpstreamEvent,
} from './upstream-call.ts';

/** The durable tool that runs all calls to an upstream, whichever of its tools they call. */
export function relayTool(upstream: Upstream): DurableTool {
  const name = `upstream/${upstream.name}`;
  // The relay does the retries itself.
  const { retry: _, task, ...policy } = upstream.config.policy;
  return {
    ...durable({ ...policy, ...(task && { task }) }),
    method: 'tools/call',
    name,
    annotations: undefined,
    before: undefined,
    joinable: true,
    inputSchema: undefined,
    outputSchema: undefined,
    idempotent: false,
    immediateResponse: undefined,
    again: withoutTicket,
    handler: (call: Call, task) => new Relay(upstream, call, task).run(),
    outcome: (returned, { maxSize: largest }) =>
      outcomeOf(returned, { name, outputSchema: undefined, maxSize: largest }),
    failure: failureOfCall,
  };
}

/** The same tool with the policy of one of the upstream's tools. */
export function relayToolFor(base: DurableTool, upstream: Upstream, tool: string): DurableTool {
  // The concurrency limit of a single tool is enforced with `upstream.slots`.
  const { retry: _, concurrency: _limit, joinable = true, ...policy } = upstream.policy(tool);
  const { task, retentionMs, deadlineMs } = durable(policy);
  return { ...base, task, retentionMs, deadlineMs, joinable };
}

// --- A fast answer needs no task --------------------------------------------------------------------------

/** A call that is answered within this time gets no task. */
const directAnswerMs = 100;

/** Calls that started before their task was created, by the ticket in the input of the task. */
const startedCalls = new Map<string, UpstreamCall>();

/** Starts a call before its task is created. If it is not answered soon, the task takes it over with its ticket. */
export function startBeforeTask(upstream: Upstream, call: Call): Head {
  return async (owner, signal) => {
    const upstreamCall = new UpstreamCall(owner);
    const onAbort = () => void upstreamCall.cancel();
    signal.addEventListener('abort', onAbort, { once: true });
    const ticket = newId();
    upstream.send(upstreamCall, call, ticket);
    const ending = await upstreamCall.outcomeWithin(directAnswerMs);
    signal.removeEventListener('abort', onAbort);
    // Only a task can retry a broken call.
    if (ending && ending.kind !== 'broken' && ending.kind !== 'unreachable')
      return { outcome: outcomeOfEnding(ending, `"${call.name}" of "${upstream.name}"`) };
    startedCalls.set(ticket, upstreamCall);
    return {
      input: { ...call, ticket },
      abandon: () => {
        startedCalls.delete(ticket);
        void upstreamCall.cancel();
      },
    };
  };
}

/** The call that started before its task. Only the first pass in the same process finds it. */
function takeStarted({ ticket = '' }: Call): UpstreamCall | undefined {
  const upstreamCall = startedCalls.get(ticket);
  startedCalls.delete(ticket);
  return upstreamCall;
}

/** A rerun must not use the ticket: it belongs to the original call. */
function withoutTicket(call: Json): Json {
  if (!isJsonObject(call)) return call;
  const { ticket: _, ...rest } = call;
  return rest;
}

/** The outcome of a call without a task. It is JSON already and not stored, so it needs no validation. */
function outcomeOfEnding(ending: UpstreamOutcome, what: string): Outcome {
  try {
    const value = resultFrom(ending, what);
    return value.isError === true
      ? { kind: 'result', isError: true, value }
      : { kind: 'result', isError: false, value };
  } catch (error) {
    return failureOfCall(error);
  }
}

// --- The task ---------------------------------------------------------------------------------------------

/** `again`: the attempt failed, and the call is sent again after this time. */
type Event = UpstreamEvent | { readonly type: 'again'; readonly afterMs: number };

class Relay {
  readonly #upstream: Upstream;
  readonly #call: Call;
  readonly #task: TaskContext;
  readonly #conversation: Conversation;
  readonly #label: string;
  /** Whether an earlier pass may have sent the call. `from` is the first pass in which it can have been sent. */
  readonly #mayHaveStarted: (from: number) => boolean;
  #upstreamCall: UpstreamCall;
  #releaseSlot = () => {};

  constructor(upstream: Upstream, call: Call, task: TaskContext) {
    this.#upstream = upstream;
    this.#call = call;
    this.#task = task;
    const started = takeStarted(call);
    this.#upstreamCall = started ?? new UpstreamCall(task.owner);
    this.#upstreamCall.task = task;
    this.#conversation = this.#upstreamCall.conversation;
    // Only the process that started a call before its task knows its state.
    this.#mayHaveStarted = (from) => (call.ticket === undefined ? task.pass > from : started === undefined);
    this.#label = `"${call.name}" of "${upstream.name}"`;
  }

  async run(): Promise<JsonObject> {
    const task = this.#task;
    const from = await this.#acquireSlot();
    // The upstream's task in the current attempt.
    let remote: RemoteTaskEvent | undefined;
    let event = await this.#step('call', 1, (key) => this.#start(from, key));
    for (let attempt = 1; event.type !== 'end'; ) {
      if (event.type === 'task') remote = event;
      if (event.type === 'question') void this.#answer(event.key, event.question);
      if (event.type !== 'again') {
        event = await this.#step('next', attempt, (key) => this.#resume(remote, key));
        continue;
      }
      await task.sleep(event.afterMs);
      attempt++;
      remote = undefined;
      this.#upstreamCall = new UpstreamCall(task.owner, this.#conversation);
      this.#upstreamCall.task = task;
      event = await this.#step('call', attempt, (key) => this.#start(0, key));
    }
    return resultFrom(event.ending, this.#label);
  }

  /**
   * Takes a slot of a limited tool. Returns the pass in which that was: a later pass may find that the call was sent.
   */
  async #acquireSlot(): Promise<number> {
    const { name, isLimited = false } = this.#call;
    if (!isLimited) return 1;
    // Stored journals contain the name of this step, so it cannot change.
    return this.#task.step('place', async ({ signal }) => {
      const slots = this.#upstream.slots.get(name);
      if (slots) this.#releaseSlot = await slots.acquire(new CancellableWait(signal));
      return this.#task.pass;
    });
  }

  /**
   * Sends the call, unless it may have been sent already and is not safe to repeat. `from` 0: it may have been sent.
   */
  #start(from: number, key: string): void {
    if (this.#upstreamCall.hasStarted) return;
    if (this.#mayHaveStarted(from) && !this.#upstream.isSafe(this.#call.name))
      return this.#upstreamCall.markLost(
        `The gateway stopped during the call of ${this.#label}. It may have been executed.`,
      );
    this.#upstream.send(this.#upstreamCall, this.#call, key);
  }

  /** A later pass has a new `UpstreamCall`, which resumes the call if possible. */
  #resume(remote: RemoteTaskEvent | undefined, key: string): void {
    if (this.#upstreamCall.hasStarted) return;
    if (!remote) return this.#start(0, key);
    if (this.#upstream.resume(this.#upstreamCall, this.#call, remote)) return;
    if (this.#upstream.isSafe(this.#call.name)) this.#upstream.send(this.#upstreamCall, this.#call, key);
    else
      this.#upstreamCall.markLost(
        `The gateway stopped during ${this.#label}, and the process of "${this.#upstream.name}" with it. The call may have been executed in part.`,
      );
  }

  #step(name: 'call' | 'next', attempt: number, act: (key: string) => void): Promise<Event> {
    return this.#task.step(name, ({ signal, key }) => this.#nextEvent(signal, attempt, () => act(key)));
  }

  /** The next event. If the step is aborted, the upstream's task is cancelled only if this task has ended. */
  async #nextEvent(signal: AbortSignal, attempt: number, act: () => void): Promise<Event> {
    const onAbort = () =>
      queueMicrotask(() => {
        this.#releaseSlot();
        if (this.#task.signal.aborted) void this.#upstreamCall.cancel();
        else this.#upstreamCall.detach();
      });
    signal.addEventListener('abort', onAbort, { once: true });
    act();
    const event = await this.#upstreamCall.next();
    signal.removeEventListener('abort', onAbort);
    if (event.type !== 'end') return event;
    const { kind } = event.ending;
    const retry = this.#upstream.retry(this.#call.name);
    if ((kind === 'unreachable' || kind === 'broken') && attempt < retry.attempts)
      return { type: 'again', afterMs: delayAfter(retry, attempt) };
    this.#releaseSlot();
    return event;
  }

  // --- Questions ------------------------------------------------------------------------------------------

  /** Asks the caller a question, concurrently with the call. The answer is undefined if the caller cannot be asked. */
  async #answer(key: string, question: JsonObject): Promise<void> {
    const pending = this.#conversation.open(key);
    const answer = await this.#askCaller(key, question).catch((error: unknown) => {
      if (error instanceof CannotBeAsked) return undefined;
      throw error;
    });
    pending.resolve(answer);
  }

  #askCaller(key: string, question: JsonObject): Promise<JsonObject> {
    const task = this.#task;
    // A key that begins with `~` is a digest, which means nothing to people.
    const name = key.startsWith('~') ? 'question' : key;
    const message = [question.message, question.problem].filter((text) => text !== undefined).join(' ');
    const ask = task.ask as (key: string, question: object) => Promise<JsonObject>;
    switch (question.kind) {
      case 'form':
        return ask(name, { message, schema: schemaOf(question.schema as JsonObject) });
      case 'url':
        return ask(name, { message, url: String(question.url) });
      case 'sampling':
        return ask(name, { sampling: question.params as JsonObject });
      default:
        return ask(name, { roots: true });
    }
  }
}

/** A schema from the wire. Answers are validated where they are received, so `validate` accepts everything. */
function schemaOf(schema: JsonObject): Schema {
  return {
    '~standard': {
      version: 1,
      vendor: 'holdfast',
      validate: (value) => ({ value }),
      jsonSchema: { input: () => schema },
    },
  };
}
