/**
 * The story of one task, read again whenever its tree changes, at most once a second. What was read last stays while
 * the next is on its way, and while the server is away.
 */
import { type ReadonlySignal, signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { OperatorApi, TaskDetails } from '../../../src/operator/api.ts';
import { Unauthorized } from '../errors.ts';
import { connection, onChanges, whenConnected } from '../live.ts';
import { desk } from '../session.ts';

export type Told =
  | { readonly state: 'loading' }
  | { readonly state: 'missing' }
  | { readonly state: 'failed'; readonly error: unknown }
  /** `error`: it could not be read again; `isGone`: it was purged since. */
  | { readonly state: 'told'; readonly story: TaskDetails; readonly error?: unknown; readonly isGone?: true };

const leastPauseMs = 1_000;
const retryMs = 3_000;

export class StoryReader {
  readonly #id: string;
  readonly #told = signal<Told>({ state: 'loading' });
  #desk: OperatorApi | undefined;
  #isReading = false;
  #isWanted = false;
  #lastRead = Number.NEGATIVE_INFINITY;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(id: string) {
    this.#id = id;
  }

  get told(): ReadonlySignal<Told> {
    return this.#told;
  }

  /** Reads and follows until the function that is given back is called. */
  follow(desk: OperatorApi): () => void {
    this.#desk = desk;
    // From then on every change is heard of, so that nothing falls between the first reading and the first news.
    void whenConnected().then(() => this.read());
    const stopHearing = onChanges(({ tasks, removed, reset }) => {
      const told = this.#told.peek();
      const rootId = told.state === 'told' ? told.story.task.rootId : this.#id;
      if (removed.includes(rootId) && told.state === 'told') this.#told.value = { ...told, isGone: true };
      else if (reset || tasks.some(({ id }) => id === rootId)) this.#soon();
    });
    let wasAway = false;
    const stopWatching = connection.subscribe(({ state }) => {
      if (state === 'live' && wasAway) this.#soon();
      wasAway = state === 'offline';
    });
    return () => {
      stopHearing();
      stopWatching();
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#desk = undefined;
    };
  }

  #soon(pauseMs = leastPauseMs): void {
    if (this.#timer !== undefined) return;
    const wait = Math.max(0, this.#lastRead + pauseMs - performance.now());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.read();
    }, wait);
  }

  /** Reads now. A second request while one is under way is made after it, because the first may have come too early. */
  async read(): Promise<void> {
    const desk = this.#desk;
    if (!desk) return;
    if (this.#isReading) {
      this.#isWanted = true;
      return;
    }
    this.#isReading = true;
    try {
      const story = await desk.details(this.#id);
      if (desk === this.#desk) this.#tell(story);
    } catch (error) {
      if (desk === this.#desk) this.#fail(error);
    } finally {
      this.#isReading = false;
      this.#lastRead = performance.now();
    }
    if (this.#isWanted) {
      this.#isWanted = false;
      await this.read();
    }
  }

  #tell(story: TaskDetails | undefined): void {
    const before = this.#told.peek();
    if (story) this.#told.value = { state: 'told', story };
    else this.#told.value = before.state === 'told' ? { ...before, isGone: true } : { state: 'missing' };
  }

  #fail(error: unknown): void {
    const before = this.#told.peek();
    this.#told.value = before.state === 'told' ? { ...before, error } : { state: 'failed', error };
    if (!(error instanceof Unauthorized)) this.#soon(retryMs);
  }
}

export function useStory(id: string): StoryReader {
  const reader = useMemo(() => new StoryReader(id), [id]);
  const current = desk.value;
  useEffect(() => (current ? reader.follow(current) : undefined), [reader, current]);
  return reader;
}
