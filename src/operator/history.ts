/**
 * Builds the history of a task from its commits: its passes, calls, questions and events. Commits are read in order,
 * and only the parts that are shown are kept, so a journal of many megabytes needs no more memory than a short one.
 * Pure: it does no I/O.
 */
import {
  type Batch,
  batchIn,
  type CallKind,
  type Entry,
  type RecordedCall,
} from '../engine/replay/journal.ts';
import type { TaskEvent } from '../model/event.ts';
import type { InputRecord, InputResponse } from '../model/input.ts';
import { isJsonObject, type Json } from '../model/json.ts';
import {
  redacted,
  redactOutcome,
  redactResponse,
  redactValue,
  type SecretFields,
} from '../model/redaction.ts';
import type { Task, TaskId } from '../model/task.ts';
import type { HistoryCommit } from '../ports/query.ts';
import type { CallSpan, HistoryEvent, PassSpan, Question } from './api.ts';
import { shortened, shortProgress, shortText } from './summary.ts';

/** Maximum size of a value, in characters of JSON. */
const maxValue = 2_000;
/** All values together. After that, each value is shortened to `maxLateValue`. */
const maxAllValues = 1_000_000;
const maxLateValue = 100;
const maxArguments = 50_000;
/** Maximum length of a text, in characters. */
const maxText = 1_000;
/** Of more events or calls, the middle is omitted. */
const maxShown = 2_000;

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };
/** A call while the history is being built: open or settled. */
type OpenCall = Mutable<CallSpan> & { attempts: CallSpan['attempts'][number][] };

interface Secrecy {
  /** The secret fields of the task's own tool. */
  readonly own: SecretFields;
  /** The secret fields of a subtask's tool. */
  readonly of: (childId: TaskId) => SecretFields;
}

/** Events that are committed by the pass itself and so prove that its process was alive. */
const heartbeatEvents = new Set<TaskEvent['type']>([
  'claimed',
  'recorded',
  'reported',
  'asked',
  'childStarted',
]);

/** The events that end a pass. A task that is blocked or waits for its subtasks has no worker. */
const passEnds: Partial<Record<TaskEvent['type'], PassSpan['end']>> = {
  parked: 'parked',
  stuck: 'parked',
  held: 'parked',
  released: 'released',
  finished: 'ended',
};

export class HistoryReader {
  readonly #secrecy: Secrecy;
  readonly #passes: Mutable<PassSpan>[] = [];
  readonly #calls: OpenCall[] = [];
  /** When each entry settled, in order. A call is made once the previous entry has settled. */
  readonly #settledAt: number[] = [];
  readonly #events: HistoryEvent[] = [];
  #omittedEvents = 0;
  /** The version after the last commit that was read. */
  #version = 0;
  #arguments: Json = null;
  /** When the current pass was last known to be alive. */
  #aliveAt = 0;
  #valuesLeft = maxAllValues;

  constructor(secrecy: Secrecy) {
    this.#secrecy = secrecy;
  }

  read({ version, at, events, journal }: HistoryCommit): void {
    // Each commit that the store omitted was one event: a claim, or the end of a pass that did nothing.
    this.#omittedEvents += version - this.#version - 1;
    this.#version = version;
    for (const record of journal) {
      if (Array.isArray(record)) this.#readBatch(batchIn(record));
      else if (isJsonObject(record) && 'arguments' in record)
        this.#arguments = shortened(redactValue(record.arguments!, this.#secrecy.own), maxArguments);
    }
    for (const event of events) {
      this.#readEvent(event, at);
      this.#keep({ version, at, event: shortEvent(event) });
    }
    if (events.some(({ type }) => heartbeatEvents.has(type))) this.#aliveAt = at;
  }

  /** The history from all commits that were read. */
  history(task: Task) {
    const endedAt = task.phase === 'done' ? task.finishedAt : null;
    const calls = this.#calls.map((call) => (call.state === 'open' ? { ...call, to: endedAt } : call));
    const shown = withoutMiddle(calls);
    return {
      arguments: this.#arguments,
      passes: this.#passes,
      calls: shown,
      omittedCalls: calls.length - shown.length,
      questions: task.inputs.map(questionOf),
      events: this.#events,
      omittedEvents: this.#omittedEvents,
    };
  }

  #readEvent(event: TaskEvent, at: number): void {
    // The previous pass did not end: its process died, or stopped responding until another one took over.
    if (event.type === 'claimed' || event.type === 'rested') this.#endPass('crashed', this.#aliveAt);
    else if (passEnds[event.type]) this.#endPass(passEnds[event.type]!, at);
    if (event.type !== 'claimed') return;
    this.#passes.push({
      number: event.epoch,
      worker: event.worker,
      from: at,
      to: null,
      end: 'running',
      replayed: this.#settledAt.length,
    });
  }

  #endPass(end: PassSpan['end'], at: number): void {
    const pass = this.#passes.at(-1);
    if (pass?.end === 'running') Object.assign(pass, { end, to: Math.max(pass.from, at) });
  }

  #readBatch({ moment, calls, entries, attempts }: Batch): void {
    for (const call of calls) this.#calls.push(this.#openCall(call, moment));
    for (const { call: position, message, retryAt } of attempts) {
      const text = this.#secrecy.own === 'all' ? redacted : shortText(message, maxText);
      this.#calls[position]?.attempts.push({ at: moment, message: text, retryAt });
    }
    for (const entry of entries) {
      this.#settledAt.push(moment);
      this.#settle(entry, moment);
    }
  }

  /**
   * A handler makes a call as soon as the previous one has settled, which can be long before the call is committed. If
   * the pass started later, it made the call again.
   */
  #openCall({ kind, name, at, due, key }: RecordedCall, moment: number): OpenCall {
    const pass = this.#passes.at(-1);
    const madeAt = at > 0 ? (this.#settledAt[at - 1] ?? moment) : 0;
    return {
      kind,
      name: shortText(name, maxText),
      pass: pass?.number ?? 1,
      from: Math.min(moment, Math.max(madeAt, pass?.from ?? madeAt)),
      to: null,
      state: 'open',
      attempts: [],
      ...(key !== undefined && { key }),
      ...(kind === 'result' && { childId: name }),
      ...(due !== undefined && { due }),
    };
  }

  #settle({ call: position, ok, value }: Entry, moment: number): void {
    const call = this.#calls[position];
    if (!call) return;
    call.state = ok ? 'ok' : 'failed';
    call.to = Math.max(call.from, moment);
    if (!ok) call.error = this.#errorText(value);
    else if (call.kind === 'start' && typeof value === 'string') call.childId = value;
    else if (value !== undefined) call.value = this.#shown(call, value);
  }

  #errorText(record: Json | undefined): string {
    if (this.#secrecy.own === 'all') return redacted;
    const { message } = isJsonObject(record) ? record : {};
    return shortText(String(message ?? 'The call failed.'), maxText);
  }

  #shown({ kind, childId }: { readonly kind: CallKind; readonly childId?: TaskId }, value: Json): Json {
    const { own, of } = this.#secrecy;
    const hidden =
      kind === 'result'
        ? resultWithout(value, of(childId!))
        : kind === 'ask' && isJsonObject(value)
          ? redactResponse(value, own)
          : redactValue(value, own);
    const short = shortened(hidden, this.#valuesLeft > 0 ? maxValue : maxLateValue);
    this.#valuesLeft -= JSON.stringify(short).length;
    return short;
  }

  #keep(event: HistoryEvent): void {
    if (this.#events.push(event) <= maxShown) return;
    this.#events.splice(maxShown / 2, 1);
    this.#omittedEvents++;
  }
}

function resultWithout(value: Json, fields: SecretFields): Json {
  const outcome = redactOutcome({ kind: 'result', isError: false, value }, fields);
  return outcome.kind === 'result' ? outcome.value : redacted;
}

/** Omits calls in the middle, but never open ones. */
function withoutMiddle(calls: readonly CallSpan[]): CallSpan[] {
  const from = maxShown / 2;
  const to = calls.length - maxShown / 2;
  return calls.filter(({ state }, n) => n < from || n >= to || state === 'open');
}

function shortEvent(event: TaskEvent): TaskEvent {
  if (event.type === 'stuck') return { ...event, message: shortText(event.message, maxText) };
  if (event.type !== 'reported') return event;
  const { message, progress } = event;
  return {
    ...event,
    ...(message !== undefined && { message: shortText(message, maxText) }),
    ...(progress && { progress: shortProgress(progress, maxText) }),
  };
}

/** The request is not shortened, because the person who answers must see all of it. */
function questionOf(input: InputRecord): Question {
  const { key, request, askedAt, state } = input;
  const asked = { key, request, state, askedAt };
  if (input.state === 'answered')
    return {
      ...asked,
      settledAt: input.answeredAt,
      response: shortened(input.response, maxValue) as InputResponse,
    };
  return input.state === 'withdrawn' ? { ...asked, settledAt: input.withdrawnAt } : asked;
}
