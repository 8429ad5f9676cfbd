/**
 * The story of a task, read out of its commits: who advanced it when, which calls its handler made, what came of them.
 * Commits are given one after the other, in order, and only what is shown of them is kept, so that a journal of many
 * megabytes needs no more memory than a short one. Pure: everything outside is given.
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

/** In characters of JSON. */
const longestValue = 2_000;
/** All values together; once they have as many characters, each of the others gets few. */
const longestValues = 1_000_000;
const longestLateValue = 100;
const longestArguments = 50_000;
const longestText = 1_000;
/** Of more events, or calls, the middle is left out. */
const mostShown = 2_000;

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };
type OpenCall = Mutable<CallSpan> & { attempts: CallSpan['attempts'][number][] };

interface Secrecy {
  /** What the author of the task's own tool declared secret. */
  readonly own: SecretFields;
  /** … and of the tool of a subtask. */
  readonly of: (childId: TaskId) => SecretFields;
}

/** Commits of these kinds are made by the pass itself: whoever made one was alive. */
const signsOfLife = new Set<TaskEvent['type']>(['claimed', 'recorded', 'reported', 'asked', 'childStarted']);

/** How a pass ends by what happened. A task that is set aside, or waits for its subtasks to end, is held by nobody. */
const ends: Partial<Record<TaskEvent['type'], PassSpan['end']>> = {
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
  /** When each entry settled, in their order: a call is made when the one before it has. */
  readonly #settledAt: number[] = [];
  readonly #events: HistoryEvent[] = [];
  #omittedEvents = 0;
  #version = 0;
  #arguments: Json = null;
  /** When the pass that is under way was last known to be alive. */
  #aliveAt = 0;
  #valuesLeft = longestValues;

  constructor(secrecy: Secrecy) {
    this.#secrecy = secrecy;
  }

  read({ version, at, events, journal }: HistoryCommit): void {
    // Each commit that the store has left out was one event: a claim, or the end of a pass that did nothing.
    this.#omittedEvents += version - this.#version - 1;
    this.#version = version;
    for (const record of journal) {
      if (Array.isArray(record)) this.#readBatch(batchIn(record));
      else if (isJsonObject(record) && 'arguments' in record)
        this.#arguments = shortened(redactValue(record.arguments!, this.#secrecy.own), longestArguments);
    }
    for (const event of events) {
      this.#readEvent(event, at);
      this.#keep({ version, at, event: shortEvent(event) });
    }
    if (events.some(({ type }) => signsOfLife.has(type))) this.#aliveAt = at;
  }

  /** As much of the task's story as its commits tell. */
  told(task: Task) {
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
    // Nobody said that the pass before this one was over: its process died, or fell silent until another took over.
    if (event.type === 'claimed' || event.type === 'rested') this.#endPass('crashed', this.#aliveAt);
    else if (ends[event.type]) this.#endPass(ends[event.type]!, at);
    if (event.type !== 'claimed') return;
    this.#passes.push({
      number: event.epoch,
      holder: event.holder,
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
    for (const call of calls) this.#calls.push(this.#madeCall(call, moment));
    for (const { call: position, message, retryAt } of attempts) {
      const text = this.#secrecy.own === 'all' ? redacted : shortText(message, longestText);
      this.#calls[position]?.attempts.push({ at: moment, message: text, retryAt });
    }
    for (const entry of entries) {
      this.#settledAt.push(moment);
      this.#settle(entry, moment);
    }
  }

  /**
   * A handler makes a call as soon as the one before it has settled, which may be long before a commit tells of it; if
   * the pass began later than that, it made the call again.
   */
  #madeCall({ kind, name, at, due, key }: RecordedCall, moment: number): OpenCall {
    const pass = this.#passes.at(-1);
    const madeAt = at > 0 ? (this.#settledAt[at - 1] ?? moment) : 0;
    return {
      kind,
      name: shortText(name, longestText),
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
    return shortText(String(message ?? 'It failed.'), longestText);
  }

  #shown({ kind, childId }: { readonly kind: CallKind; readonly childId?: TaskId }, value: Json): Json {
    const { own, of } = this.#secrecy;
    const hidden =
      kind === 'result'
        ? resultWithout(value, of(childId!))
        : kind === 'ask' && isJsonObject(value)
          ? redactResponse(value, own)
          : redactValue(value, own);
    const short = shortened(hidden, this.#valuesLeft > 0 ? longestValue : longestLateValue);
    this.#valuesLeft -= JSON.stringify(short).length;
    return short;
  }

  #keep(event: HistoryEvent): void {
    if (this.#events.push(event) <= mostShown) return;
    this.#events.splice(mostShown / 2, 1);
    this.#omittedEvents++;
  }
}

function resultWithout(value: Json, fields: SecretFields): Json {
  const outcome = redactOutcome({ kind: 'result', isError: false, value }, fields);
  return outcome.kind === 'result' ? outcome.value : redacted;
}

/** What is still open is never left out. */
function withoutMiddle(calls: readonly CallSpan[]): CallSpan[] {
  const from = mostShown / 2;
  const to = calls.length - mostShown / 2;
  return calls.filter(({ state }, n) => n < from || n >= to || state === 'open');
}

function shortEvent(event: TaskEvent): TaskEvent {
  if (event.type === 'stuck') return { ...event, message: shortText(event.message, longestText) };
  if (event.type !== 'reported') return event;
  const { message, progress } = event;
  return {
    ...event,
    ...(message !== undefined && { message: shortText(message, longestText) }),
    ...(progress && { progress: shortProgress(progress, longestText) }),
  };
}

/** The request stands as it is: whoever answers must see all of it. */
function questionOf(input: InputRecord): Question {
  const { key, request, askedAt, state } = input;
  const asked = { key, request, state, askedAt };
  if (input.state === 'answered')
    return {
      ...asked,
      settledAt: input.answeredAt,
      response: shortened(input.response, longestValue) as InputResponse,
    };
  return input.state === 'withdrawn' ? { ...asked, settledAt: input.withdrawnAt } : asked;
}
