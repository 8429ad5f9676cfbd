/**
 * Builds the commit of a batch: its record, the questions it opens or withdraws, the subtasks it starts, and the
 * report.
 */

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
  /** Every call of the pass, by its position. Those of the batch are the last ones. */
  readonly calls: readonly Call[];
  readonly report: Report;
}

/** The rule that commits a batch. Adds the key of each new question to `keys`. */
export function advance(
  task: Task,
  claim: Claim,
  { batch, calls, report }: Advance,
  at: number,
  keys: Map<Call, string>,
): Verdict {
  const newCalls = calls.slice(calls.length - batch.calls.length);
  const commit = new Composition(unchanged(task));

  for (const call of newCalls) {
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
    // A question that settled without an answer, for example after its timeout, is closed.
    if (purpose.kind === 'ask' && !ok) commit.and((now) => rules.withdraw(now, [key!], at));
  }
  commit.and((now) => rules.report(now, claim, report, at));
  const keyed = newCalls.map((call) =>
    recorded({ ...call, ...(keys.has(call) && { key: keys.get(call)! }) }),
  );
  commit.and((now) => rules.record(now, claim, [toRecord({ ...batch, calls: keyed })], at));
  return commit.verdict;
}

// --- Reports of a handler -----------------------------------------------------------------------------------

/**
 * How often reports are committed: at first four times a second, which looks live. Later the interval is 1/60 of the
 * time since the pass began, up to 5 s: otherwise a day of reports would add hundreds of thousands of commits.
 */
const intervalMs = { min: 250, max: 5_000, shareOfElapsed: 1 / 60 };

/** Coalesces the reports of a handler, so that only the last one is committed in each interval. */
export class Reporter {
  readonly #flush: () => void;
  #pending: Report = {};
  #timer: Timer | undefined;
  /** When the pass began, on the monotonic clock. */
  readonly #since = runtime.monotonic();

  constructor(flush: () => void) {
    this.#flush = flush;
  }

  report(report: Report): void {
    this.#pending = { ...this.#pending, ...report };
    this.#timer ??= runtime.setTimeout(() => {
      this.#timer = undefined;
      this.#flush();
    }, this.#interval());
  }

  #interval(): number {
    const share = (runtime.monotonic() - this.#since) * intervalMs.shareOfElapsed;
    return Math.min(intervalMs.max, Math.max(intervalMs.min, share));
  }

  /** Returns the pending report, which the caller commits now. */
  take(): Report {
    const report = this.#pending;
    this.#pending = {};
    runtime.clearTimeout(this.#timer);
    this.#timer = undefined;
    return report;
  }

  /** Makes a taken report pending again, because its commit failed. Newer values take precedence. */
  restore(report: Report): void {
    this.#pending = { ...report, ...this.#pending };
  }
}
