/**
 * A call of an upstream as a durable task. The handler holds nothing: whatever it awaits is a step that gives the next
 * event of the call, or a question to whoever made it. So a gateway that was killed knows from the journal how far the
 * call was: whether it may have begun, under which name the upstream knows it, what was asked and what was answered.
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
import { failureOfCall, resultOf, type UpstreamOutcome } from './call-outcome.ts';
import type { Call, Upstream } from './upstream.ts';
import {
  type Conversation,
  type RemoteTaskEvent,
  UpstreamCall,
  type UpstreamEvent,
} from './upstream-call.ts';

/** The engine's tool for all calls of an upstream, whichever of its tools they are for. */
export function relayTool(upstream: Upstream): DurableTool {
  const name = `upstream/${upstream.name}`;
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

/** The same, with what is said of one of its tools. */
export function relayToolFor(base: DurableTool, upstream: Upstream, tool: string): DurableTool {
  const { retry: _, concurrency: _limit, joinable = true, ...policy } = upstream.policy(tool);
  const { task, retentionMs, deadlineMs } = durable(policy);
  return { ...base, task, retentionMs, deadlineMs, joinable };
}

// --- An answer that comes at once needs no task -----------------------------------------------------------

const headMs = 100;

/** Calls that began before there was a task of them, by the ticket that is in the input of the task. */
const begunCalls = new Map<string, UpstreamCall>();

/** Begins a call before there is a task of it. */
export function headOf(upstream: Upstream, call: Call): Head {
  return async (owner, signal) => {
    const drive = new UpstreamCall(owner);
    const onAbort = () => void drive.cancel();
    signal.addEventListener('abort', onAbort, { once: true });
    const ticket = newId();
    upstream.send(drive, call, ticket);
    const ending = await drive.endWithin(headMs);
    signal.removeEventListener('abort', onAbort);
    // What broke off may be worth another try, which is for a task to make.
    if (ending && ending.kind !== 'broken' && ending.kind !== 'unreachable')
      return { outcome: outcomeOfEnding(ending, `"${call.name}" of "${upstream.name}"`) };
    begunCalls.set(ticket, drive);
    return {
      input: { ...call, ticket },
      abandon: () => {
        begunCalls.delete(ticket);
        void drive.cancel();
      },
    };
  };
}

/** The call that began before its task. Only the first pass in the same process finds it. */
function takeBegun({ ticket = '' }: Call): UpstreamCall | undefined {
  const drive = begunCalls.get(ticket);
  begunCalls.delete(ticket);
  return drive;
}

/** A ticket is for the call that was under way when its task was made, and for no other. */
function withoutTicket(call: Json): Json {
  if (!isJsonObject(call)) return call;
  const { ticket: _, ...rest } = call;
  return rest;
}

/** Nothing of it is kept, and what came as JSON goes on as it came. */
function outcomeOfEnding(ending: UpstreamOutcome, what: string): Outcome {
  try {
    const value = resultOf(ending, what);
    return value.isError === true
      ? { kind: 'result', isError: true, value }
      : { kind: 'result', isError: false, value };
  } catch (error) {
    return failureOfCall(error);
  }
}

// --- The task ---------------------------------------------------------------------------------------------

type Event = UpstreamEvent | { readonly type: 'again'; readonly afterMs: number };

class Relay {
  readonly #upstream: Upstream;
  readonly #call: Call;
  readonly #task: TaskContext;
  readonly #conversation: Conversation;
  readonly #what: string;
  readonly #mayHaveBegun: (from: number) => boolean;
  #drive: UpstreamCall;
  #leave = () => {};

  constructor(upstream: Upstream, call: Call, task: TaskContext) {
    this.#upstream = upstream;
    this.#call = call;
    this.#task = task;
    const begun = takeBegun(call);
    this.#drive = begun ?? new UpstreamCall(task.owner);
    this.#drive.task = task;
    this.#conversation = this.#drive.conversation;
    // One that began before its task is known to whoever began it, and to nobody after that.
    this.#mayHaveBegun = (from) => (call.ticket === undefined ? task.pass > from : begun === undefined);
    this.#what = `"${call.name}" of "${upstream.name}"`;
  }

  async run(): Promise<JsonObject> {
    const task = this.#task;
    const from = await this.#takePlace();
    let remote: RemoteTaskEvent | undefined;
    let event = await this.#step('call', 1, (key) => this.#begin(from, key));
    for (let attempt = 1; event.type !== 'end'; ) {
      if (event.type === 'task') remote = event;
      if (event.type === 'question') void this.#answer(event.key, event.question);
      if (event.type !== 'again') {
        event = await this.#step('next', attempt, (key) => this.#goOn(remote, key));
        continue;
      }
      await task.sleep(event.afterMs);
      attempt++;
      remote = undefined;
      this.#drive = new UpstreamCall(task.owner, this.#conversation);
      this.#drive.task = task;
      event = await this.#step('call', attempt, (key) => this.#begin(0, key));
    }
    return resultOf(event.ending, this.#what);
  }

  /** The pass in which the call begins: later ones do not know whether it did. */
  async #takePlace(): Promise<number> {
    const { name, isLimited = false } = this.#call;
    if (!isLimited) return 1;
    return this.#task.step('place', async ({ signal }) => {
      const slots = this.#upstream.slots.get(name);
      if (slots) this.#leave = await slots.acquire(new CancellableWait(signal));
      return this.#task.pass;
    });
  }

  #begin(from: number, key: string): void {
    if (this.#drive.isBegun) return;
    if (this.#mayHaveBegun(from) && !this.#upstream.isSafe(this.#call.name))
      return this.#drive.lose(
        `The gateway ended while ${this.#what} was being called. Whether it was carried out is not known.`,
      );
    this.#upstream.send(this.#drive, this.#call, key);
  }

  /** In a later pass the drive is another: it finds the call again, if anybody can. */
  #goOn(remote: RemoteTaskEvent | undefined, key: string): void {
    if (this.#drive.isBegun) return;
    if (!remote) return this.#begin(0, key);
    if (this.#upstream.resume(this.#drive, this.#call, remote)) return;
    if (this.#upstream.isSafe(this.#call.name)) this.#upstream.send(this.#drive, this.#call, key);
    else
      this.#drive.lose(
        `The gateway ended, and with it the process of "${this.#upstream.name}" that worked on ${this.#what}. How far it came is not known.`,
      );
  }

  #step(name: 'call' | 'next', attempt: number, act: (key: string) => void): Promise<Event> {
    return this.#task.step(name, ({ signal, key }) => this.#attended(signal, attempt, () => act(key)));
  }

  /** The next event. If the step is stopped, the upstream is told only when the task itself has ended. */
  async #attended(signal: AbortSignal, attempt: number, act: () => void): Promise<Event> {
    const onAbort = () =>
      queueMicrotask(() => {
        this.#leave();
        if (this.#task.signal.aborted) void this.#drive.cancel();
        else this.#drive.detach();
      });
    signal.addEventListener('abort', onAbort, { once: true });
    act();
    const event = await this.#drive.next();
    signal.removeEventListener('abort', onAbort);
    if (event.type !== 'end') return event;
    const { kind } = event.ending;
    const retry = this.#upstream.retry(this.#call.name);
    if ((kind === 'unreachable' || kind === 'broken') && attempt < retry.attempts)
      return { type: 'again', afterMs: delayAfter(retry, attempt) };
    this.#leave();
    return event;
  }

  // --- Questions ------------------------------------------------------------------------------------------

  /** Beside the call, which goes on meanwhile. */
  async #answer(key: string, question: JsonObject): Promise<void> {
    const answer = this.#conversation.open(key);
    const given = await this.#asked(key, question).catch((error: unknown) => {
      if (error instanceof CannotBeAsked) return undefined;
      throw error;
    });
    answer.resolve(given);
  }

  #asked(key: string, question: JsonObject): Promise<JsonObject> {
    const task = this.#task;
    // Where a question has no name of its own, what it is known by means nothing to people.
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

/** A schema that came over the wire: it is shown as it is, and what answers it is judged where answers come in. */
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
