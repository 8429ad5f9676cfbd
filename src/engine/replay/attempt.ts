/** One attempt of a step, or one check of a condition, with its timeout. Never throws. */

import { hasCode } from '../../model/errors.ts';
import type { Json } from '../../model/json.ts';
import { isInstance, messageOf } from '../../model/thrown.ts';
import { withTimeout } from '../../runtime/timeout.ts';
import type { Call } from './call.ts';
import { toJsonValue } from './json-value.ts';
import type { PassHost } from './pass.ts';
import { recordError, StepTimedOut, TerminalError } from './recorded-error.ts';
import { delayAfter } from './step-retry.ts';

/** Characters of the message of a failed attempt: a journal may contain thousands of attempts. */
const maxMessageLength = 1_000;

export type Attempted =
  | { readonly type: 'settled'; readonly ok: boolean; readonly value?: Json }
  /** Retried at `at`; with a message if this attempt failed. */
  | { readonly type: 'later'; readonly at: number; readonly message?: string };

type AttemptHost = Pick<PassHost, 'taskId' | 'limits' | 'observed' | 'now' | 'attemptStarted'>;

export async function attempt(call: Call, host: AttemptHost): Promise<Attempted> {
  const { purpose } = call;
  if (purpose.kind !== 'step' && purpose.kind !== 'until')
    throw new TypeError(`A call of kind ${call.kind} has nothing to run.`);
  const abort = new AbortController();
  call.abort = abort;
  const context = {
    key: `${host.taskId}/${call.position}`,
    attempt: call.attempts + 1,
    signal: abort.signal,
  };
  const observedCall = { kind: purpose.kind, name: call.name, attempt: context.attempt };
  const what = `The ${call.kind === 'step' ? 'step' : 'check'} "${call.name}"`;
  try {
    const timeoutMs = purpose.kind === 'step' ? purpose.timeoutMs : undefined;
    const run = () => tracked(host, () => host.observed.attempt(observedCall, () => purpose.run(context)));
    const timedOut = () => new StepTimedOut(`${what} took longer than ${timeoutMs} ms.`);
    const returned = timeoutMs === undefined ? run() : withTimeout(timeoutMs, run, timedOut, abort);
    const value = toJsonValue(await returned, what, host.limits.maxValueSize);
    if (purpose.kind === 'until' && (value === undefined || value === null || value === false))
      return { type: 'later', at: host.now() + purpose.everyMs };
    return { type: 'settled', ok: true, ...(value !== undefined && { value }) };
  } catch (error) {
    const failed = call.attempts + 1;
    const final = isInstance(error, TerminalError) || hasCode(error, 'NOT_JSON', 'VALUE_TOO_LARGE');
    if (purpose.kind === 'step' && !final && failed < purpose.retry.attempts) {
      const message = messageOf(error, maxMessageLength);
      return { type: 'later', at: host.now() + delayAfter(purpose.retry, failed), message };
    }
    return { type: 'settled', ok: false, value: recordError(error, host.limits.maxValueSize) };
  }
}

/** A step may continue long after its timeout or the end of its task. It counts as running until it has settled. */
function tracked(host: AttemptHost, run: () => unknown): unknown {
  const attempt = run();
  if (!isPromise(attempt)) return attempt;
  const settled = () => {};
  host.attemptStarted(Promise.resolve(attempt).then(settled, settled));
  return attempt;
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}
