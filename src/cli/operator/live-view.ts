/** Refreshes a view after changes, and draws it in place in a terminal until the user quits or the view is complete. */

import type { ChangeMessage, OperatorApi } from '../../operator/api.ts';
import { backoffMs } from '../../runtime/backoff.ts';
import { pause, runtime } from '../../runtime/runtime.ts';
import { FullScreen, Keys } from '../views/terminal.ts';
import type { Output } from './drawing-style.ts';
import type { Session } from './open-operator.ts';
import { ServerUnavailable } from './operator-over-http.ts';

/** The minimum time between two refreshes: changes in quick succession are read together. */
const minRefreshMs = 250;
/** Refreshes at least this often, in case a change was missed. */
const maxRefreshMs = 10_000;
/** Redraws this often without a refresh, because the drawing shows the time. */
const drawMs = 1_000;

interface LiveView {
  /** Called with each change. Returns true if it requires a refresh. */
  needsRefresh(message: ChangeMessage): boolean;
  /** Reads the tasks again. Returns `over` if nothing more can change. */
  refresh(): Promise<'over' | 'continues'>;
  /** Only called with a terminal and without --json. */
  draw(size: { readonly columns: number; readonly rows: number; readonly isUnavailable: boolean }): string[];
}

/** Without a keyboard, as in `watch < /dev/null`, only Ctrl-C works. */
export function quitHint({ keys }: Output): string {
  return keys ? 'q: quit' : 'Ctrl-C: quit';
}

/** Shows a view. Returns `left` if the user quit, and `over` if nothing more can change. */
export async function live({ operator, output, values }: Session, view: LiveView): Promise<'over' | 'left'> {
  const screen = output.terminal && !values.json ? new FullScreen(output.terminal) : undefined;
  /** Aborts when the user quits, the view is complete, or something failed. */
  const end = new AbortController();
  const { signal } = end;
  const left = Promise.withResolvers<'left'>();
  let isUnavailable = false;
  let changed = Promise.withResolvers<void>();

  const draw = () => {
    if (!screen || signal.aborted) return;
    const { columns, rows } = screen;
    screen.draw(view.draw({ columns, rows: rows - 1, isUnavailable }).map(output.spell));
  };
  const print = (sentence: string) => {
    if (!output.terminal && !values.json) console.error(sentence);
  };
  const onUnavailable = () => {
    isUnavailable = true;
    print('Server unavailable; retrying.');
    draw();
  };
  const onAvailable = () => {
    isUnavailable = false;
    print('Server available again.');
    changed.resolve();
  };
  const listen = async () => {
    for await (const message of follow(operator, { signal, onUnavailable, onAvailable }))
      if (view.needsRefresh(message)) changed.resolve();
  };
  const refresh = async () => {
    while (!signal.aborted) {
      // Before the refresh, so that a change during it causes another one.
      changed = Promise.withResolvers();
      try {
        if ((await view.refresh()) === 'over') return;
      } catch (error) {
        if (signal.aborted) return;
        // Keeps the drawing while the server is unavailable.
        if (!(error instanceof ServerUnavailable)) throw error;
      }
      draw();
      const timeout = pause(maxRefreshMs, signal).catch(() => {});
      await Promise.race([changed.promise, timeout]);
      await pause(minRefreshMs, signal).catch(() => {});
    }
  };

  const leave = () => {
    left.resolve('left');
    end.abort();
  };
  const keys = new Keys(screen && output.keys, {
    interrupted: leave,
    pressed: (key) => key === 'q' && leave(),
    suspends: () => screen?.leave(),
  });
  const timer = screen && runtime.setInterval(draw, drawMs);
  if (screen) process.stdout.on('resize', draw);
  keys.listen();
  try {
    const parts = [listen(), refresh()].map((part) => part.finally(() => end.abort()));
    // Quitting does not wait for the server.
    return await Promise.race([left.promise, Promise.all(parts).then(() => 'over' as const)]);
  } finally {
    runtime.clearInterval(timer);
    process.stdout.off('resize', draw);
    screen?.leave();
    keys.close();
  }
}

// --- Changes, with reconnection -----------------------------------------------------------------------------

const backoff = { minMs: 250, maxMs: 10_000 };

/**
 * Yields changes until `signal` aborts, and reconnects without limit. Throws all errors except an unavailable server.
 */
export async function* follow(
  operator: OperatorApi,
  {
    signal,
    onUnavailable,
    onAvailable,
  }: { signal: AbortSignal; onUnavailable?(): void; onAvailable?(): void },
): AsyncIterable<ChangeMessage> {
  let lastId: string | undefined;
  let failures = 0;
  let isUnavailable = false;
  while (!signal.aborted) {
    try {
      if (isUnavailable) {
        // Checks the server, because the stream sends nothing until something changes.
        await operator.about();
        isUnavailable = false;
        onAvailable?.();
      }
      for await (const message of operator.changes({ signal, ...(lastId !== undefined && { lastId }) })) {
        lastId = message.id;
        failures = 0;
        yield message;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ServerUnavailable)) throw error;
      if (!isUnavailable) onUnavailable?.();
      isUnavailable = true;
    }
    // Jitter, so that many watchers of one server do not reconnect at the same time.
    await pause(backoffMs(backoff, failures++) * (0.5 + runtime.random() / 2), signal).catch(() => {});
  }
}
