/**
 * What a handler says about itself, made few: however often it speaks, a commit carries its last word, at most every
 * so often, and whatever commit comes anyway takes it along.
 */

import { runtime, type Timer } from '../model/runtime.ts';
import type { Report } from './transitions.ts';

/**
 * Four times a second to begin with, which looks alive; work that has talked for minutes is heard every few seconds,
 * or a day of it would leave hundreds of thousands of commits.
 */
const quietMs = { least: 250, most: 5_000, shareOfTalk: 1 / 60 };

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
  giveBack(report: Report): void {
    this.#unsaid = { ...report, ...this.#unsaid };
  }
}
