/** When a call that waits may settle, and with what. Pure: the world outside and the moment are given. */
import type { Call, Outside, Settlement } from './call.ts';
import { AskTimedOut, fromChild, recordError, WaitTimedOut } from './recorded-error.ts';

/** How a waiting call settles now; undefined while there is nothing to settle it with. */
export function settlementOf(call: Call, { task, children }: Outside, now: number): Settlement | undefined {
  switch (call.purpose.kind) {
    case 'ask': {
      const input = task.inputs.find(({ key }) => key === call.key);
      if (input?.state === 'answered') return { ok: true, value: input.response };
      if (input?.state === 'withdrawn')
        return failed(new AskTimedOut(`The question "${call.name}" was withdrawn.`));
      return isOver(call, now)
        ? failed(new AskTimedOut(`Nobody answered the question "${call.name}" in time.`))
        : undefined;
    }
    case 'event': {
      if (task.completions && Object.hasOwn(task.completions, call.name))
        return { ok: true, value: task.completions[call.name]! };
      return isOver(call, now)
        ? failed(new WaitTimedOut(`"${call.name}" was not completed in time.`))
        : undefined;
    }
    case 'result': {
      const outcome = children.get(call.purpose.childId);
      return outcome && fromChild(call.purpose.tool, outcome);
    }
    case 'sleep':
      return isOver(call, now) ? { ok: true } : undefined;
    case 'until':
      return isOver(call, now)
        ? failed(new WaitTimedOut(`"${call.name}" did not come true in time.`))
        : undefined;
    case 'step':
    case 'start':
      return undefined;
  }
}

/** The next moment at which something may happen by itself to one of these calls. */
export function nextMoment(calls: Iterable<Call>): number | undefined {
  let next = Number.POSITIVE_INFINITY;
  for (const { state, due, startAt } of calls) {
    if (due !== undefined && due < next) next = due;
    if (state === 'waiting' && startAt !== undefined && startAt < next) next = startAt;
  }
  return next === Number.POSITIVE_INFINITY ? undefined : next;
}

function isOver(call: Call, now: number): boolean {
  return call.due !== undefined && call.due <= now;
}

function failed(error: Error): Settlement {
  return { ok: false, value: recordError(error) };
}
