/** Which dialect a request of a session speaks. Later requests say it themselves, in their metadata. */
import { isJsonObject } from '../model/json.ts';
import { tasksOf2025 } from './2025-11-25/dialect.ts';
import type { Dialect } from './dialect.ts';
import { agreedDrafts, tasksWith } from './drafts/dialect.ts';
import type { Drafts } from './drafts/flags.ts';
import { NotOffered } from './errors.ts';
import { isMarked, originalTasks } from './sep-1686/dialect.ts';

/** What a client said of itself when it opened its session. */
export interface Opening {
  readonly protocolVersion?: unknown;
  readonly capabilities?: unknown;
}

/** For sessions of revisions that know no tasks. */
const noTasks: Dialect = {
  ...tasksOf2025,
  methods: [],
  tasksRequired: (what) =>
    new NotOffered(
      `${what} must be called as a task, and this session has none: open one with revision ${tasksOf2025.revision}.`,
    ),
};

export function dialectOf(
  { protocolVersion, capabilities }: Opening,
  on: Drafts,
  request: { readonly method: string; readonly meta: unknown },
): Dialect {
  const isOlder = typeof protocolVersion === 'string' && knownWithoutTasks.includes(protocolVersion);
  const hasOriginal = on.has('sep-1686');
  if (hasOriginal && isMarked(request.method, request.meta)) return originalTasks;
  if (isOlder) return hasOriginal && request.method.startsWith('tasks/') ? originalTasks : noTasks;
  return tasksWith(agreedDrafts(capabilities, on));
}

/** Whatever else a client asks for, it is answered with the latest revision that has sessions. */
const knownWithoutTasks = ['2024-10-07', '2024-11-05', '2025-03-26', '2025-06-18'];

/** A request asks for a task of 2025-11-25; on its drafts that is a wish about one that may come anyway. */
export function requestedTask(params: unknown): { readonly ttl?: unknown } | undefined {
  const wish = isJsonObject(params) ? params.task : undefined;
  return isJsonObject(wish) ? wish : undefined;
}
