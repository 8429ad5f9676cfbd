/** What an author says about clients that know no tasks. */

import { defaultPrefix, plainToolNames } from '../../dialects/plain-tools/names.ts';
import { checkedName } from '../../engine/handlers/tool.ts';
import { type Duration, toMs } from '../../model/duration.ts';
import { InvalidOptions } from '../../model/errors.ts';

export interface AttachOptions {
  /**
   * What happens to a long call by a client without tasks. By default (`'hand-over'`, or options for it) it is answered
   * before the client gives up, and continues in the background as a task that the model follows with plain tools.
   * `'wait'`: the call stays open until the result is there, and ends with its connection.
   */
  readonly plainClients?: 'hand-over' | 'wait' | HandOverOptions;
}

export interface HandOverOptions {
  /**
   * The time from the arrival of a call to its first answer, and the longest that each wait tool call takes, if the
   * client did not ask for progress. Choose less than clients wait. Default `'25s'`.
   */
  readonly window?: Duration;
  /** The same for a client that asked for progress, which many clients count as a sign of life. Default `'50s'`. */
  readonly windowWithProgress?: Duration;
  /** The prefix of the names of the four tools. Change it if clients merge several servers. Default `'task_'`. */
  readonly prefix?: string;
  /** Whether clients of 2025-11-25 and earlier, which do not declare whether they know tasks, are included. Default true. */
  readonly earlierRevisions?: boolean;
  /** Whether tools with `task: 'required'` are handed over at once instead of refused. Default false. */
  readonly required?: boolean;
  /** How long operators can see a call after its result was delivered. By default it is removed then. */
  readonly keepDelivered?: Duration;
}

function invalidPlainClients(given: unknown): InvalidOptions {
  return new InvalidOptions(
    'INVALID_PLAIN_CLIENTS',
    `plainClients is ${JSON.stringify(given) ?? String(given)}: use 'hand-over', 'wait', or options such as { window: '25s' }.`,
  );
}

/** An author's tool has the name of a tool that plain clients continue with. */
export function toolNameTaken(name: string): InvalidOptions {
  return new InvalidOptions(
    'TOOL_NAME_TAKEN',
    `The tool name "${name}" is taken: clients without tasks continue their calls with a tool of that name. Rename yours, or choose another prefix: attach(mcp, { plainClients: { prefix: 'job_' } }).`,
  );
}

export type HandOverSettings = NonNullable<ReturnType<typeof handOverSettings>>;

/** Undefined if plain clients wait. */
export function handOverSettings({ plainClients = 'hand-over' }: AttachOptions) {
  if (plainClients === 'wait') return undefined;
  const options = plainClients === 'hand-over' ? {} : plainClients;
  if (typeof options !== 'object' || options === null) throw invalidPlainClients(plainClients);
  const { window = '25s', windowWithProgress, prefix = defaultPrefix, keepDelivered } = options;
  const names = plainToolNames(prefix);
  for (const name of Object.values(names)) checkedName('tool', name);
  const windowMs = toMs(window);
  return {
    windowMs,
    // Progress never shortens the time.
    windowWithProgressMs: toMs(windowWithProgress ?? Math.max(windowMs, 50_000)),
    names,
    earlierRevisions: options.earlierRevisions ?? true,
    required: options.required ?? false,
    keepDeliveredMs: keepDelivered === undefined ? undefined : toMs(keepDelivered),
  };
}
