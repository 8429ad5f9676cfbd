/** Compares the calls of a handler with the calls in its journal. */
import { HoldfastError } from '../../model/errors.ts';
import type { Call } from './call.ts';
import type { CallKind, Journal, RecordedCall } from './journal.ts';

export class HandlerRefused extends HoldfastError {
  constructor(message: string) {
    super('HANDLER_REFUSED', message);
  }
}

/** Describes how a call differs from the journal's call at the same position. Undefined if it does not. */
export function difference(
  journal: Journal,
  made: Pick<Call, 'position' | 'kind' | 'name' | 'at'>,
): string | undefined {
  const known = journal.calls[made.position];
  if (!known) {
    // Up to `knownUpTo` every call is recorded. A later call may be new.
    return made.at <= journal.knownUpTo
      ? `the handler now calls ${described(made)}, but the journal has no call there`
      : undefined;
  }
  if (known.kind !== made.kind || known.name !== made.name)
    return `the journal has ${described(known)}, but the handler now calls ${described(made)}`;
  if (known.at !== made.at)
    return `${described(made)} was called after ${entries(known.at)}, but the handler now calls it after ${entries(made.at)}`;
  return undefined;
}

export function described({ kind, name }: Pick<RecordedCall, 'kind' | 'name'>): string {
  return name === '' ? `${methods[kind]}()` : `${methods[kind]}(${JSON.stringify(name)})`;
}

/** The method for each kind of call, as authors know it. */
export const methods: Readonly<Record<CallKind, string>> = {
  step: 'task.step',
  ask: 'task.ask',
  start: 'task.start',
  result: 'subtask.result',
  sleep: 'task.sleep',
  until: 'task.waitForCondition',
  event: 'task.waitForEvent',
};

/** The maximum number of open calls that a message lists, because there may be thousands. */
const maxListed = 5;

/** The message of the error for a call that was reached through an await outside a step. */
export function outsideAStep(where: string, open: Iterable<Call>): string {
  const calls = [...open];
  const more = calls.length > maxListed ? ` and ${calls.length - maxListed} more` : '';
  const openCalls = `${calls.slice(0, maxListed).map(described).join(' and ')}${more}`;
  return `${where} was reached through something awaited outside a step (a timer, a request, a file) while ${openCalls} was open. After a crash the order could not be repeated: move the awaited work into its own step.`;
}

/** The number of ticks, with all microtasks after each: enough for any reasonable chain of pure computation. */
const drainingTicks = 200;

/** Calls back after this many ticks, each with all its microtasks, and before any timer or I/O. */
export function whenDrained(callback: () => void, ticks = drainingTicks): void {
  if (ticks === 0) callback();
  else process.nextTick(() => queueMicrotask(() => whenDrained(callback, ticks - 1)));
}

/** The call as it is recorded in the journal. */
export function recorded({ kind, name, at, due, key }: Call): RecordedCall {
  return { kind, name, at, ...(due !== undefined && { due }), ...(key !== undefined && { key }) };
}

function entries(count: number): string {
  return `${count} ${count === 1 ? 'entry' : 'entries'}`;
}
