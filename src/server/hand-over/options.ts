/** Options for clients that do not support tasks. */

import { defaultPrefix, plainToolNames } from '../../dialects/plain-tools/names.ts';
import { checkedName } from '../../engine/handlers/tool.ts';
import { type Duration, toMs } from '../../model/duration.ts';
import { InvalidOptions } from '../../model/errors.ts';

export interface AttachOptions {
  /**
   * How to treat a long call by a client that does not support tasks. `'hand-over'` (the default) or an object with
   * options: the call is answered before the client times out, and continues in the background as a task that the model
   * follows with plain tools. `'wait'`: the call stays open until it has a result, and ends with its connection.
   */
  readonly plainClients?: 'hand-over' | 'wait' | HandOverOptions;
}

export interface HandOverOptions {
  /**
   * The maximum time from the arrival of a call to its first answer, and of each call of the wait tool, if the client
   * did not ask for progress. Choose less than the timeout of the clients. Default `'25s'`.
   */
  readonly window?: Duration;
  /**
   * The same for a client that asked for progress: many clients restart their timeout with it. Default `'50s'`, or
   * `window` if that is longer.
   */
  readonly windowWithProgress?: Duration;
  /** The prefix of the names of the four tools. Change it if clients merge several servers. Default `'task_'`. */
  readonly prefix?: string;
  /** Whether to include clients of 2025-11-25 and earlier, which do not declare support for tasks. Default true. */
  readonly earlierRevisions?: boolean;
  /** Whether calls of tools with `task: 'required'` are handed over immediately instead of refused. Default false. */
  readonly required?: boolean;
  /** How long operators can see a call after its result was delivered. Default: it is removed immediately. */
  readonly keepDelivered?: Duration;
}

function invalidPlainClients(given: unknown): InvalidOptions {
  return new InvalidOptions(
    'INVALID_PLAIN_CLIENTS',
    `plainClients is ${JSON.stringify(given) ?? String(given)}: use 'hand-over', 'wait', or options such as { window: '25s' }.`,
  );
}

/** The error if an author's tool has the name of one of the plain tools. */
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
    // The default is never shorter than `window`.
    windowWithProgressMs: toMs(windowWithProgress ?? Math.max(windowMs, 50_000)),
    names,
    earlierRevisions: options.earlierRevisions ?? true,
    required: options.required ?? false,
    keepDeliveredMs: keepDelivered === undefined ? undefined : toMs(keepDelivered),
  };
}
