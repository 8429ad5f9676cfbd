/**
 * The details of one task, read again whenever its tree changes, at most once a second. The last details stay while the
 * next are loading and while the server is unreachable.
 */
import { type ReadonlySignal, signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { OperatorApi, TaskDetails } from '../../../src/operator/api.ts';
import { Unauthorized } from '../errors.ts';
import { connection, onChanges, whenConnected } from '../live.ts';
import { operatorApi } from '../session.ts';

export type DetailsState =
  | { readonly state: 'loading' }
  | { readonly state: 'missing' }
  | { readonly state: 'failed'; readonly error: unknown }
  /** `error`: the last read failed; `isGone`: the task was purged. */
  | {
      readonly state: 'loaded';
      readonly details: TaskDetails;
      readonly error?: unknown;
      readonly isGone?: true;
    };

const minPauseMs = 1_000;
const retryMs = 3_000;

export class DetailsReader {
  readonly #id: string;
  readonly #state = signal<DetailsState>({ state: 'loading' });
  #api: OperatorApi | undefined;
  #isReading = false;
  #isWanted = false;
  #lastRead = Number.NEGATIVE_INFINITY;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(id: string) {
    this.#id = id;
  }

  get state(): ReadonlySignal<DetailsState> {
    return this.#state;
  }

  /** Reads the task and follows its changes until the returned function is called. */
  follow(api: OperatorApi): () => void {
    this.#api = api;
    // Changes are delivered from then on, so that none is missed after the first read.
    void whenConnected().then(() => this.read());
    const stopChanges = onChanges(({ tasks, removed, reset }) => {
      const current = this.#state.peek();
      const rootId = current.state === 'loaded' ? current.details.task.rootId : this.#id;
      if (removed.includes(rootId) && current.state === 'loaded')
        this.#state.value = { ...current, isGone: true };
      else if (reset || tasks.some(({ id }) => id === rootId)) this.#soon();
    });
    let wasAway = false;
    const stopConnection = connection.subscribe(({ state }) => {
      if (state === 'live' && wasAway) this.#soon();
      wasAway = state === 'offline';
    });
    return () => {
      stopChanges();
      stopConnection();
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#api = undefined;
    };
  }

  #soon(pauseMs = minPauseMs): void {
    if (this.#timer !== undefined) return;
    const wait = Math.max(0, this.#lastRead + pauseMs - performance.now());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.read();
    }, wait);
  }

  /** Reads now. If a read is in progress, another one follows, because the first may have been too early. */
  async read(): Promise<void> {
    const api = this.#api;
    if (!api) return;
    if (this.#isReading) {
      this.#isWanted = true;
      return;
    }
    this.#isReading = true;
    try {
      const details = await api.details(this.#id);
      if (api === this.#api) this.#show(details);
    } catch (error) {
      if (api === this.#api) this.#fail(error);
    } finally {
      this.#isReading = false;
      this.#lastRead = performance.now();
    }
    if (this.#isWanted) {
      this.#isWanted = false;
      await this.read();
    }
  }

  #show(details: TaskDetails | undefined): void {
    const before = this.#state.peek();
    if (details) this.#state.value = { state: 'loaded', details };
    else this.#state.value = before.state === 'loaded' ? { ...before, isGone: true } : { state: 'missing' };
  }

  #fail(error: unknown): void {
    const before = this.#state.peek();
    this.#state.value = before.state === 'loaded' ? { ...before, error } : { state: 'failed', error };
    if (!(error instanceof Unauthorized)) this.#soon(retryMs);
  }
}

export function useDetails(id: string): DetailsReader {
  const reader = useMemo(() => new DetailsReader(id), [id]);
  const api = operatorApi.value;
  useEffect(() => (api ? reader.follow(api) : undefined), [reader, api]);
  return reader;
}
