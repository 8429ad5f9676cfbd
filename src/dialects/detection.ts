/**
 * Detects the dialect of a request that belongs to a session. Requests of later revisions declare it in their metadata.
 */
import { isJsonObject } from '../model/json.ts';
import { tasksOf2025 } from './2025-11-25/dialect.ts';
import type { Dialect } from './dialect.ts';
import { agreedDrafts, tasksWith } from './drafts/dialect.ts';
import type { Drafts } from './drafts/flags.ts';
import { NotOffered } from './errors.ts';
import { isMarked, originalTasks } from './sep-1686/dialect.ts';

/** What the client declared in `initialize`. */
export interface Opening {
  readonly protocolVersion?: unknown;
  readonly capabilities?: unknown;
}

/** For sessions of revisions without tasks. */
const noTasks: Dialect = {
  ...tasksOf2025,
  methods: [],
  tasksRequired: (what) =>
    new NotOffered(
      `${what} must be called as a task, and this session does not support tasks. Open a session with revision ${tasksOf2025.revision}.`,
    ),
};

/** The dialect of a request in a session with this opening. `on` are the drafts that the server has turned on. */
export function dialectOf(
  { protocolVersion, capabilities }: Opening,
  on: Drafts,
  request: { readonly method: string; readonly meta: unknown },
): Dialect {
  const isOlder = typeof protocolVersion === 'string' && revisionsWithoutTasks.includes(protocolVersion);
  const hasOriginal = on.has('sep-1686');
  if (hasOriginal && isMarked(request.method, request.meta)) return originalTasks;
  if (isOlder) return hasOriginal && request.method.startsWith('tasks/') ? originalTasks : noTasks;
  return tasksWith(agreedDrafts(capabilities, on));
}

/** A session with any other revision, even an unknown one, uses 2025-11-25: the latest revision that has sessions. */
const revisionsWithoutTasks = ['2024-10-07', '2024-11-05', '2025-03-26', '2025-06-18'];

/** The `task` member of a request of 2025-11-25. With its drafts, a call can become a task without this member. */
export function requestedTask(params: unknown): { readonly ttl?: unknown } | undefined {
  const task = isJsonObject(params) ? params.task : undefined;
  return isJsonObject(task) ? task : undefined;
}
