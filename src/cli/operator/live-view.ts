/**
 * A view that is looked at anew whenever something changed, drawn in place at a terminal until somebody leaves it or
 * it is over. What it looks at and how it is drawn is for others to say.
 */

import type { ChangeMessage, OperatorApi } from '../../operator/api.ts';
import { backoffMs } from '../../runtime/backoff.ts';
import { pause, runtime } from '../../runtime/runtime.ts';
import { FullScreen, Keys } from '../views/terminal.ts';
import type { Sight } from './drawing-style.ts';
import type { At } from './open-operator.ts';
import { ServerAway } from './operator-over-http.ts';

/** Changes that come close together are looked at together. */
const calmMs = 250;
/** Looked at all the same, in case that nobody told. */
const restMs = 10_000;
const drawMs = 1_000;

interface LiveView {
  /** Whether the view is to be looked at anew. */
  heard(message: ChangeMessage): boolean;
  /** Looks; says whether it is over. */
  look(): Promise<'over' | 'continues'>;
  /** Where there is a terminal to draw in, and nobody wants JSON. */
  draw(size: { readonly columns: number; readonly rows: number; readonly isAway: boolean }): string[];
}

/** Without a keyboard, as in `watch < /dev/null`, there is still Ctrl-C. */
export function howToLeave({ keys }: Sight): string {
  return keys ? 'q leaves' : 'Ctrl-C leaves';
}

export async function live({ desk, sight, values }: At, view: LiveView): Promise<'over' | 'left'> {
  const screen = sight.terminal && !values.json ? new FullScreen(sight.terminal) : undefined;
  /** Somebody leaves, it is over, or something failed. */
  const end = new AbortController();
  const { signal } = end;
  const left = Promise.withResolvers<'left'>();
  let isAway = false;
  let news = Promise.withResolvers<void>();

  const draw = () => {
    if (!screen || signal.aborted) return;
    const { columns, rows } = screen;
    screen.draw(view.draw({ columns, rows: rows - 1, isAway }).map(sight.spell));
  };
  const tell = (sentence: string) => {
    if (!sight.terminal && !values.json) console.error(sentence);
  };
  const onAway = () => {
    isAway = true;
    tell('The server is away; trying again.');
    draw();
  };
  const onBack = () => {
    isAway = false;
    tell('The server is back.');
    news.resolve();
  };
  const listening = async () => {
    for await (const message of follow(desk, { signal, onAway, onBack }))
      if (view.heard(message)) news.resolve();
  };
  const looking = async () => {
    while (!signal.aborted) {
      // What is told from here on may be newer than what is seen.
      news = Promise.withResolvers();
      try {
        if ((await view.look()) === 'over') return;
      } catch (error) {
        if (signal.aborted) return;
        // What cannot be seen now is looked at again; what is drawn stays as it was.
        if (!(error instanceof ServerAway)) throw error;
      }
      draw();
      const rest = pause(restMs, signal).catch(() => {});
      await Promise.race([news.promise, rest]);
      await pause(calmMs, signal).catch(() => {});
    }
  };

  const leave = () => {
    left.resolve('left');
    end.abort();
  };
  const keys = new Keys(screen && sight.keys, {
    interrupted: leave,
    pressed: (key) => key === 'q' && leave(),
    suspends: () => screen?.leave(),
  });
  const timer = screen && runtime.setInterval(draw, drawMs);
  if (screen) process.stdout.on('resize', draw);
  keys.listen();
  try {
    const parts = [listening(), looking()].map((part) => part.finally(() => end.abort()));
    // Leaving does not wait for a server that does not answer.
    return await Promise.race([left.promise, Promise.all(parts).then(() => 'over' as const)]);
  } finally {
    runtime.clearInterval(timer);
    process.stdout.off('resize', draw);
    screen?.leave();
    keys.close();
  }
}

// --- Changes, over connections that break -------------------------------------------------------------------

const backoff = { minMs: 250, maxMs: 10_000 };

/**
 * A connection that broke is tried again, for ever. Whatever is not just an absence (a token that is refused, say) is
 * thrown.
 */
export async function* follow(
  desk: OperatorApi,
  { signal, onAway, onBack }: { signal: AbortSignal; onAway?(): void; onBack?(): void },
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
