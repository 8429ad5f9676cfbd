/** How the durable tools of a `Tasks` are served, whichever way requests come in. */
import type { Draft } from '../dialects/drafts/flags.ts';
import type { Duration } from '../model/duration.ts';
import type { Owner } from '../model/task.ts';
import type { Credentials } from '../task-methods/caller.ts';
import type { Limits } from '../task-methods/limits.ts';
import type { Called } from './task-server.ts';

export interface ServingOptions {
  /** How long a call of a tool with `task: 'auto'` may run before it is answered with a task. Default `'200ms'`. */
  readonly window?: Duration;
  /** Determines the owner of a request's tasks. Default: the issuer, subject and client of its verified token. */
  readonly owner?: (credentials: Credentials | undefined) => Owner;
  /**
   * The maximum retention of tasks of callers without a token, whatever the caller or the tool requests: these tasks
   * are protected only by their unguessable ids. Default `'1h'`.
   */
  readonly anonymousRetention?: Duration;
  /**
   * The maximum deadline of tasks that callers start, whatever the tool sets; `'none'` for no maximum. Default `'30d'`.
   */
  readonly maxDeadline?: Duration | 'none';
  /**
   * Drafts of MCP tasks that clients may use in addition to the released revisions: a list, or `'all'`. Default: none.
   */
  readonly drafts?: readonly Draft[] | 'all';
  /** Limits on callers. Each has a default; see docs/limits.md. */
  readonly limits?: Partial<Limits>;
  /** Whether the server includes the caller's limits in its capabilities. Default true. */
  readonly showLimits?: boolean;
  /**
   * @internal
   * Finds the tool for a name, and the input of its task, on a server whose tools change. Such a server lists its tools
   * itself; the tools of `createTasks` only run its tasks.
   */
  readonly toolNamed?: (name: string, input: unknown) => Called | undefined;
}
