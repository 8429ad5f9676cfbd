/** Comparing what a handler does with what its journal says it did. */
import { HoldfastError } from '../../model/errors.ts';
import type { Call } from './call.ts';
import type { Journal, RecordedCall } from './journal.ts';

export class HandlerRefused extends HoldfastError {
  constructor(message: string) {
    super('HANDLER_REFUSED', message);
  }
}

/** How a call differs from the record at its position; undefined if it may be made. */
export function difference(
  journal: Journal,
  made: Pick<Call, 'position' | 'kind' | 'name' | 'at'>,
): string | undefined {
  const known = journal.calls[made.position];
  if (!known) {
    return made.at <= journal.knownUpTo
      ? `the handler now makes ${described(made)}, the journal has no call there`
      : undefined;
  }
  if (known.kind !== made.kind || known.name !== made.name)
    return `the journal has ${described(known)}, the handler now makes ${described(made)}`;
  if (known.at !== made.at)
    return `${described(made)} was made after ${entries(known.at)}, the handler now makes it after ${entries(made.at)}`;
  return undefined;
}

export function described({ kind, name }: Pick<RecordedCall, 'kind' | 'name'>): string {
  return name === '' ? `task.${kind}()` : `task.${kind}(${JSON.stringify(name)})`;
}

/** Open calls that a message names; there may be thousands. */
const named = 5;

/** Why the handler may not get there. */
export function outsideAStep(where: string, open: Iterable<Call>): string {
  const calls = [...open];
  const more = calls.length > named ? ` and ${calls.length - named} more` : '';
  const beside = `${calls.slice(0, named).map(described).join(' and ')}${more}`;
  return `${where} was reached through something awaited outside a step (a timer, a request, a file) while ${beside} was open. Its order could not be repeated after a crash: put what is awaited into a step of its own.`;
}

/** Ticks after each of which all microtasks run: as many as a chain of pure computation can reasonably take. */
const drainingTicks = 200;

/** Calls back when ticks and microtasks have run dry, and before any timer or I/O. */
export function whenDrained(callback: () => void, ticks = drainingTicks): void {
  if (ticks === 0) callback();
  else process.nextTick(() => queueMicrotask(() => whenDrained(callback, ticks - 1)));
}

/** The call as the journal keeps it. */
export function recorded({ kind, name, at, due, key }: Call): RecordedCall {
  return { kind, name, at, ...(due !== undefined && { due }), ...(key !== undefined && { key }) };
}

function entries(count: number): string {
  return `${count} ${count === 1 ? 'entry' : 'entries'}`;
}
