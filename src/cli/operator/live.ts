/**
 * A view that is looked at anew whenever something changed, drawn in place at a terminal until somebody leaves it or
 * it is over. What it looks at and how it is drawn is for others to say.
 */

import { backoffMs } from '../../model/backoff.ts';
import { pause, runtime } from '../../model/runtime.ts';
import type { ChangeMessage, OperatorDesk } from '../../operator/api.ts';
import { FullScreen, Keys } from '../live/terminal.ts';
import { ServerAway } from './desk-over-http.ts';
import type { Sight } from './look.ts';

/** Changes that come close together are looked at together. */
const calmMs = 250;
/** Looked at all the same, in case that nobody told. */
const restMs = 10_000;
const drawMs = 1_000;

export interface LiveView {
  /** Whether the view is to be looked at anew. */
  heard(message: ChangeMessage): boolean;
  /** Looks; says whether it is over. */
  look(): Promise<'over' | 'goes on'>;
  /** Undefined where nothing is drawn. */
  draw?(size: { readonly columns: number; readonly rows: number; readonly isAway: boolean }): string[];
  away?(): void;
  back?(): void;
}

/** Without a keyboard, as in `watch < /dev/null`, there is still Ctrl-C. */
export function howToLeave({ keys }: Sight): string {
  return keys ? 'q leaves' : 'Ctrl-C leaves';
}

export async function live(desk: OperatorDesk, sight: Sight, view: LiveView): Promise<'over' | 'left'> {
  return new Live(desk, sight, view).run();
}

class Live {
  readonly #desk: OperatorDesk;
  readonly #view: LiveView;
  readonly #screen: FullScreen | undefined;
  readonly #keys: Keys;
  /** Somebody leaves, it is over, or something failed. */
  readonly #end = new AbortController();
  readonly #left = Promise.withResolvers<'left'>();
  #isAway = false;
  #news = Promise.withResolvers<void>();

  constructor(desk: OperatorDesk, { terminal, keys, spell }: Sight, view: LiveView) {
    this.#desk = desk;
    this.#view = view;
    this.#screen = terminal && view.draw && new FullScreen(terminal, spell);
    const leaves = () => {
      this.#left.resolve('left');
      this.#end.abort();
    };
    this.#keys = new Keys(this.#screen && keys, leaves, {
      pressed: (key) => key === 'q' && leaves(),
      suspends: () => this.#screen?.leave(),
    });
  }

  async run(): Promise<'over' | 'left'> {
    const { stdout } = process;
    const timer = this.#screen && runtime.setInterval(this.#draw, drawMs);
    if (this.#screen) stdout.on('resize', this.#draw);
    this.#keys.listen();
    try {
      const parts = [this.#listening(), this.#looking()].map((part) => part.finally(() => this.#end.abort()));
      // Whoever leaves does not wait for a server that does not answer.
      return await Promise.race([this.#left.promise, Promise.all(parts).then(() => 'over' as const)]);
    } finally {
      runtime.clearInterval(timer);
      stdout.off('resize', this.#draw);
      this.#screen?.leave();
      this.#keys.close();
    }
  }

  async #listening(): Promise<void> {
    const { signal } = this.#end;
    for await (const message of follow(this.#desk, { signal, onAway: this.#onAway, onBack: this.#onBack }))
      if (this.#view.heard(message)) this.#news.resolve();
  }

  async #looking(): Promise<void> {
    const { signal } = this.#end;
    while (!signal.aborted) {
      // What is told from here on may be newer than what is seen.
      this.#news = Promise.withResolvers();
      try {
        if ((await this.#view.look()) === 'over') return;
      } catch (error) {
        if (signal.aborted) return;
        // What cannot be seen now is looked at again; what is drawn stays as it was.
        if (!(error instanceof ServerAway)) throw error;
      }
      this.#draw();
      const rest = pause(restMs, signal).catch(() => {});
      await Promise.race([this.#news.promise, rest]);
      await pause(calmMs, signal).catch(() => {});
    }
  }

  readonly #onAway = () => {
    this.#isAway = true;
    this.#view.away?.();
    this.#draw();
  };

  readonly #onBack = () => {
    this.#isAway = false;
    this.#view.back?.();
    this.#news.resolve();
  };

  readonly #draw = () => {
    if (!this.#screen || this.#end.signal.aborted) return;
    const { columns, rows } = this.#screen;
    this.#screen.draw(this.#view.draw!({ columns, rows: rows - 1, isAway: this.#isAway }));
  };
}

// --- Changes, over connections that break -------------------------------------------------------------------

const backoff = { minMs: 250, maxMs: 10_000 };

export interface Following {
  readonly signal: AbortSignal;
  /** The connection broke: it is tried again, for ever. */
  onAway?(): void;
  onBack?(): void;
}

/** Whatever is not just an absence (a token that is refused, say) is thrown. */
export async function* follow(
  desk: OperatorDesk,
  { signal, onAway, onBack }: Following,
): AsyncIterable<ChangeMessage> {
  let lastId: string | undefined;
  let failures = 0;
  let isAway = false;
  while (!signal.aborted) {
    try {
      if (isAway) {
        // A stream says nothing until something changes; this says whether anybody is there.
        await desk.about();
        isAway = false;
        onBack?.();
      }
      for await (const message of desk.changes({ signal, ...(lastId !== undefined && { lastId }) })) {
        lastId = message.id;
        failures = 0;
        yield message;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ServerAway)) throw error;
      if (!isAway) onAway?.();
      isAway = true;
    }
    // Not all at the same moment, where many watch one server that comes back.
    await pause(backoffMs(backoff, failures++) * (0.5 + runtime.random() / 2), signal).catch(() => {});
  }
}
