/** How the durable tools of a `Tasks` are served, whichever way requests come in. */
import type { Draft } from '../dialects/drafts/flags.ts';
import type { Duration } from '../model/duration.ts';
import type { Owner } from '../model/task.ts';
import type { Credentials } from '../task-methods/caller.ts';
import type { Limits } from '../task-methods/limits.ts';
import type { Called } from './task-server.ts';

export interface ServingOptions {
  /** How long a call of a tool with `task: 'auto'` is waited for before it becomes a task. Default `'200ms'`. */
  readonly window?: Duration;
  /** Whose tasks a request is about. By default the issuer, subject and client of its verified token. */
  readonly owner?: (credentials: Credentials | undefined) => Owner;
  /**
   * How long finished tasks of callers without a token are kept at most, whatever they wish and the tool says: all that
   * protects them is that nobody guesses their ids. Default `'1h'`.
   */
  readonly anonymousRetention?: Duration;
  /** When work that callers began is ended at the latest, whatever its tool says; `'none'` leaves it to the tools. Default `'30d'`. */
  readonly maxDeadline?: Duration | 'none';
  /** Drafts of tasks that clients may use besides the released revisions: some, or `'all'`. By default none. */
  readonly drafts?: readonly Draft[] | 'all';
  /** What one owner may ask for. Each has a default; see docs/limits.md. */
  readonly limits?: Partial<Limits>;
  /** Whether callers that are limited are told the limits when they ask what the server has. Default true. */
  readonly showLimits?: boolean;
  /**
   * @internal
   * Finds the tool that a name stands for, and what a task of it is made with, where tools come and go. Such a server
   * lists its tools itself; the tools of `createTasks` are only what its tasks are carried out by.
   */
  readonly toolNamed?: (name: string, input: unknown) => Called | undefined;
}
