/** What a rule decides and a store writes: the effect of one command. */
import { Refusal } from '../model/errors.ts';
import type { TaskEvent } from '../model/event.ts';
import type { Json } from '../model/json.ts';
import type { Task, TaskId } from '../model/task.ts';
import type { Actor, AuditEntry } from './audit.ts';

/** One commit of one task: the new task, its events and its new journal entries. */
export interface TaskWrite {
  readonly task: Task;
  readonly at: number;
  readonly events: readonly TaskEvent[];
  readonly journal?: readonly Json[];
  /**
   * This commit parks a task after a pass that did nothing. `Store.leaveOut` may later delete it, and the claim before
   * it, from the history.
   */
  readonly isIdle?: true;
}

export interface Change {
  /** The subject of the command, after the change. */
  readonly task: Task;
  /** In the order in which observers see them: subtasks end before their parents. */
  readonly writes: readonly TaskWrite[];
  /** Tasks to delete with all their records. */
  readonly removed: readonly TaskId[];
  /** Who acts. Absent if the engine acts on its own. */
  readonly by?: Actor;
  /** Audit entries that the store writes in the same transaction. */
  readonly audit?: readonly AuditEntry[];
  /** Present if and only if `removed` is not empty. */
  readonly removal?: Removal;
}

/** Why a tree was removed, and when. */
export interface Removal {
  /**
   * - `expired`: its retention ended
   * - `crowdedOut`: the store was full, and this tree was the one that had ended first
   * - `deleted`: its caller or an operator deleted it
   * - `answered`: its outcome was sent as the answer to its request, and its id was never published
   */
  readonly why: 'expired' | 'crowdedOut' | 'deleted' | 'answered';
  readonly at: number;
}

/** What a rule decides about a command. A refusal changes nothing. */
export type Verdict = Change | Refusal;

/** A task with all its ancestors, the nearest first. */
export interface Lineage {
  readonly task: Task;
  readonly ancestors: readonly Task[];
}

/** A task with all its ancestors and all its descendants: parents before their children, siblings in their order. */
export interface Family extends Lineage {
  readonly descendants: readonly Task[];
}

/** The command is allowed, and there is nothing to do. */
export function unchanged(task: Task): Change {
  return { task, writes: [], removed: [] };
}

/** The same decision, with the actor that it is made for. */
export function onBehalfOf(by: Actor | undefined, verdict: Verdict): Verdict {
  return by === undefined || verdict instanceof Refusal ? verdict : { ...verdict, by };
}

/** A change that writes only this task, which already has its next version. */
export function changed(
  task: Task,
  at: number,
  events: readonly TaskEvent[],
  journal?: readonly Json[],
): Change {
  return { task, writes: [write(task, at, events, journal)], removed: [] };
}

/** A change that removes the whole tree, subtasks before their parents. */
export function removed({ task, descendants }: Family, why: Removal['why'], at: number): Change {
  const ids = [...descendants.toReversed(), task].map(({ id }) => id);
  return { task, writes: [], removed: ids, removal: { why, at } };
}

export function write(
  task: Task,
  at: number,
  events: readonly TaskEvent[],
  journal?: readonly Json[],
): TaskWrite {
  return journal?.length ? { task, at, events, journal } : { task, at, events };
}

/** Combines two rules into one commit. The second rule sees the task that the first one leaves. */
export function compose(first: Verdict, second: (task: Task) => Verdict): Verdict {
  return new Composition(first).and(second).verdict;
}

interface JoinedWrite extends TaskWrite {
  readonly events: TaskEvent[];
  readonly journal: Json[];
}

/**
 * Combines several rules into one commit, in which the version of each task grows by one. Adding a rule costs the same
 * however many writes there are already.
 */
export class Composition {
  readonly #writes = new Map<TaskId, JoinedWrite>();
  readonly #removed: TaskId[] = [];
  #removal: Removal | undefined;
  #refusal: Refusal | undefined;
  #task!: Task;

  constructor(first: Verdict) {
    this.#add(first);
  }

  /** Adds the decision of a rule. After a refusal, rules no longer run. */
  and(rule: (task: Task) => Verdict): this {
    if (!this.#refusal) this.#add(rule(this.#task));
    return this;
  }

  get verdict(): Verdict {
    return (
      this.#refusal ?? {
        task: this.#task,
        writes: [...this.#writes.values()].map(({ task, at, events, journal, isIdle }) => ({
          ...write(task, at, events, journal),
          ...(isIdle && { isIdle }),
        })),
        removed: this.#removed,
        ...(this.#removal && { removal: this.#removal }),
      }
    );
  }

  #add(verdict: Verdict): void {
    if (verdict instanceof Refusal) {
      this.#refusal = verdict;
      return;
    }
    for (const { task, at, events, journal = [], isIdle } of verdict.writes) {
      const before = this.#writes.get(task.id);
      const joined: Pick<JoinedWrite, 'events' | 'journal'> = before ?? { events: [], journal: [] };
      for (const event of events) joined.events.push(event);
      for (const record of journal) joined.journal.push(record);
      // Deleted first, so that the task moves to the end: observers see the order of the later rule.
      this.#writes.delete(task.id);
      this.#writes.set(task.id, {
        ...joined,
        at,
        task: before ? { ...task, version: before.task.version } : task,
        // A commit that combines parking with another rule does something.
        ...(isIdle && !before && { isIdle }),
      });
    }
    for (const id of verdict.removed) this.#removed.push(id);
    this.#removal = verdict.removal ?? this.#removal;
    this.#task = this.#writes.get(verdict.task.id)?.task ?? verdict.task;
  }
}
