/** What a caller checks while it walks a tree of tasks that somebody else grows. */
import { MalformedAnswer } from './errors.ts';
import type { RemoteTask } from './remote-task.ts';

export interface TreeLimits {
  readonly deepest: number;
  readonly largest: number;
}

export const defaultTreeLimits: TreeLimits = { deepest: 16, largest: 10_000 };

export class TreeGuard {
  readonly #limits: TreeLimits;
  /** Under which parent each task was met first, and how deep. */
  readonly #places = new Map<string, { readonly parentId: string | undefined; readonly depth: number }>();
  readonly #childIds = new Map<string, readonly string[]>();

  constructor(rootId: string, limits: TreeLimits = defaultTreeLimits) {
    this.#limits = limits;
    this.#places.set(rootId, { parentId: undefined, depth: 0 });
  }

  /** Checks what was seen of a task, and gives the children that are new. */
  admit({ taskId, parentId, childIds }: RemoteTask): readonly string[] {
    const place = this.#places.get(taskId);
    if (!place) throw new MalformedAnswer(`it showed task ${taskId}, which was not asked for`);
    if (place.parentId !== undefined && parentId !== undefined && parentId !== place.parentId)
      throw new MalformedAnswer(
        `task ${taskId} is listed as a subtask of ${place.parentId}, and names ${parentId} as its parent`,
      );
    const before = this.#childIds.get(taskId) ?? [];
    if (childIds.length < before.length || before.some((id, i) => childIds[i] !== id))
      throw new MalformedAnswer(`the list of subtasks of task ${taskId} lost or changed entries`);
    const added = childIds.slice(before.length);
    for (const id of added) this.#place(id, taskId, place.depth + 1);
    this.#childIds.set(taskId, childIds);
    return added;
  }

  childIds(taskId: string): readonly string[] {
    return this.#childIds.get(taskId) ?? [];
  }

  #place(id: string, parentId: string, depth: number): void {
    if (id === parentId) throw new MalformedAnswer(`task ${id} is listed as its own subtask`);
    if (this.#places.has(id))
      throw new MalformedAnswer(
        `task ${id} is listed as a subtask of ${parentId}, and has another place in the same tree already`,
      );
    if (depth > this.#limits.deepest)
      throw new MalformedAnswer(`its tree of tasks is deeper than ${this.#limits.deepest}`);
    if (this.#places.size >= this.#limits.largest)
      throw new MalformedAnswer(`its tree has more than ${this.#limits.largest} tasks`);
    this.#places.set(id, { parentId, depth });
  }
}
