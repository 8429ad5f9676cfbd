/** The latest overview. It is reloaded after changes, at most every two seconds, and at times without any. */
import { effect, type Signal, signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { OverviewReport } from '../../../src/operator/api.ts';
import { Unauthorized } from '../api.ts';
import { connection, onChanges, whenConnected } from '../live.ts';
import { type Span, spans } from '../router.ts';
import { operatorApi, signOut } from '../session.ts';

const minIntervalMs = 2_000;
/** The time window moves even if nothing changes. */
const maxIntervalMs = 20_000;

export interface Reporting {
  readonly report: Signal<OverviewReport | undefined>;
  readonly error: Signal<unknown>;
  readonly retry: () => void;
}

/** The last report for each window is shown at once when the user returns, until the next one arrives. */
const cache = new Map<Span, OverviewReport>();

// A different token may see different tasks.
effect(() => {
  operatorApi.value;
  cache.clear();
});

export function useReport(window: Span): Reporting {
  const reporting = useMemo(() => new Refreshing(window), [window]);
  useEffect(() => reporting.start(), [reporting]);
  return reporting;
}

class Refreshing implements Reporting {
  readonly report: Signal<OverviewReport | undefined>;
  readonly error = signal<unknown>(undefined);
  readonly #window: Span;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lastAsked = Number.NEGATIVE_INFINITY;
  #isAsking = false;
  #isStopped = false;

  constructor(window: Span) {
    this.#window = window;
    this.report = signal(cache.get(window));
  }

  start(): () => void {
    const soon = () => this.#schedule(minIntervalMs);
    const stopListening = onChanges(soon);
    const stopConnection = connection.subscribe(({ state }) => {
      if (state === 'live' && this.error.peek() !== undefined) soon();
    });
    document.addEventListener('visibilitychange', soon);
    void whenConnected().then(() => this.#ask());
    return () => {
      this.#isStopped = true;
      clearTimeout(this.#timer);
      stopListening();
      stopConnection();
      document.removeEventListener('visibilitychange', soon);
    };
  }

  readonly retry = () => void this.#ask();

  /** Schedules the next request `ms` after the previous one. */
  #schedule(ms: number): void {
    if (this.#isStopped || this.#isAsking || document.hidden) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#ask(), Math.max(0, this.#lastAsked + ms - performance.now()));
  }

  async #ask(): Promise<void> {
    const current = operatorApi.peek();
    if (this.#isStopped || this.#isAsking || !current) return;
    this.#isAsking = true;
    this.#lastAsked = performance.now();
    let changed = false;
    const stop = onChanges(() => {
      changed = true;
    });
    try {
      const report = await current.overview({ windowMs: spans[this.#window].ms });
      cache.set(this.#window, report);
      this.report.value = report;
      this.error.value = undefined;
    } catch (error) {
      if (error instanceof Unauthorized) return signOut('refused');
      this.error.value = error;
    } finally {
      stop();
      this.#isAsking = false;
      this.#schedule(changed ? minIntervalMs : maxIntervalMs);
    }
  }
}
