/**
 * What a handler says about itself, made few: however often it speaks, a commit carries its last word, at most every
 * so often, and whatever commit comes anyway takes it along.
 */
import type { Report } from './transitions.ts';

const quietMs = 250;

export class Reporter {
  readonly #flush: () => void;
  #unsaid: Report = {};
  #timer: NodeJS.Timeout | undefined;

  constructor(flush: () => void) {
    this.#flush = flush;
  }

  report(report: Report): void {
    this.#unsaid = { ...this.#unsaid, ...report };
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#flush();
    }, quietMs);
  }

  /** The last word, to be committed now. */
  take(): Report {
    const report = this.#unsaid;
    this.#unsaid = {};
    clearTimeout(this.#timer);
    this.#timer = undefined;
    return report;
  }

  /** The commit that took it did not come about. */
  giveBack(report: Report): void {
    this.#unsaid = { ...report, ...this.#unsaid };
  }
}
