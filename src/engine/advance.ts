/** A batch of a pass as one commit: the questions it opens or gives up, the subtasks it starts, what it reports. */
import { Refusal } from '../model/errors.ts';
import type { Task } from '../model/task.ts';
import type { Call } from './call.ts';
import { compose, unchanged, type Verdict } from './change.ts';
import { type Batch, toRecord } from './journal.ts';
import type { Claim } from './queue.ts';
import { recorded } from './replay.ts';
import * as rules from './transitions.ts';

export interface Advance {
  readonly batch: Batch;
  /** Every call of the pass, by its position. */
  readonly calls: readonly Call[];
  readonly report: rules.Report;
}

/** `keys` receives the key that each newly asked question got. */
export function advance(
  task: Task,
  claim: Claim,
  { batch, calls, report }: Advance,
  at: number,
  keys: Map<Call, string>,
): Verdict {
  const made = calls.slice(calls.length - batch.calls.length);
  let verdict: Verdict = unchanged(task);
  const then = (rule: (task: Task) => Verdict) => {
    verdict = compose(verdict, rule);
  };

  for (const call of made) {
    const { purpose } = call;
    if (purpose.kind !== 'ask' || call.key !== undefined) continue;
    then((now) => rules.ask(now, claim, { key: call.name, request: purpose.request }, at));
    if (!(verdict instanceof Refusal)) keys.set(call, verdict.task.inputs.at(-1)!.key);
  }
  for (const { call: position, ok } of batch.entries) {
    const { purpose, key } = calls[position]!;
    if (purpose.kind === 'start') then((now) => rules.startChild(now, claim, purpose.request, at));
    if (purpose.kind === 'ask' && !ok) then((now) => rules.withdraw(now, [key!], at));
  }
  then((now) => rules.report(now, claim, report, at));
  const keyed = made.map((call) => recorded({ ...call, ...(keys.has(call) && { key: keys.get(call)! }) }));
  then((now) => rules.record(now, claim, [toRecord({ ...batch, calls: keyed })], at));
  return verdict;
}
