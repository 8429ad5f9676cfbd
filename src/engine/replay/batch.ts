/** A batch of a pass as one commit: the questions it opens or gives up, the subtasks it starts, what it reports. */

import type { Report } from '../../model/event.ts';
import type { Task } from '../../model/task.ts';
import { Composition, unchanged, type Verdict } from '../../ports/change.ts';
import type { Claim } from '../../ports/queue.ts';
import { runtime, type Timer } from '../../runtime/runtime.ts';
import * as rules from '../rules/transitions.ts';
import type { Call } from './call.ts';
import { recorded } from './comparison.ts';
import { type Batch, toRecord } from './journal.ts';

export interface Advance {
  readonly batch: Batch;
  /** Every call of the pass, by its position. */
  readonly calls: readonly Call[];
  readonly report: Report;
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
  const commit = new Composition(unchanged(task));

  for (const call of made) {
    const { purpose } = call;
    if (purpose.kind !== 'ask' || call.key !== undefined) continue;
    commit.and((now) => rules.ask(now, claim, { key: call.name, request: purpose.request }, at));
    commit.and((now) => {
      keys.set(call, now.inputs.at(-1)!.key);
      return unchanged(now);
    });
  }
  for (const { call: position, ok } of batch.entries) {
    const { purpose, key } = calls[position]!;
    if (purpose.kind === 'start') commit.and((now) => rules.startChild(now, claim, purpose.request, at));
    if (purpose.kind === 'ask' && !ok) commit.and((now) => rules.withdraw(now, [key!], at));
  }
  commit.and((now) => rules.report(now, claim, report, at));
  const keyed = made.map((call) => recorded({ ...call, ...(keys.has(call) && { key: keys.get(call)! }) }));
  commit.and((now) => rules.record(now, claim, [toRecord({ ...batch, calls: keyed })], at));
  return commit.verdict;
}

// --- What a handler reports about itself --------------------------------------------------------------------

/**
 * Four times a second to begin with, which looks alive; work that has talked for minutes is heard every few seconds,
 * or a day of it would leave hundreds of thousands of commits.
 */
const quietMs = { least: 250, most: 5_000, shareOfTalk: 1 / 60 };

/** However often a handler reports, a commit carries its last report, at most every so often. */
export class Reporter {
  readonly #flush: () => void;
  #unsaid: Report = {};
  #timer: Timer | undefined;
  readonly #since = runtime.monotonic();

  constructor(flush: () => void) {
    this.#flush = flush;
  }

  report(report: Report): void {
    this.#unsaid = { ...this.#unsaid, ...report };
    this.#timer ??= runtime.setTimeout(() => {
      this.#timer = undefined;
      this.#flush();
    }, this.#quiet());
  }

  #quiet(): number {
    const share = (runtime.monotonic() - this.#since) * quietMs.shareOfTalk;
    return Math.min(quietMs.most, Math.max(quietMs.least, share));
  }

  /** The last word, to be committed now. */
  take(): Report {
    const report = this.#unsaid;
    this.#unsaid = {};
    runtime.clearTimeout(this.#timer);
    this.#timer = undefined;
    return report;
  }

  /** The commit that took it did not come about. */
  restore(report: Report): void {
    this.#unsaid = { ...report, ...this.#unsaid };
  }
}
