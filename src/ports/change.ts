/** What one command does: the shape in which rules hand their decisions to a store. */
import { Refusal } from '../model/errors.ts';
import type { TaskEvent } from '../model/event.ts';
import type { Json } from '../model/json.ts';
import type { Task, TaskId } from '../model/task.ts';
import type { Actor, AuditEntry } from './audit.ts';

/** The next state of one task, what happened to it, and what its journal gains. */
export interface TaskWrite {
  readonly task: Task;
  readonly at: number;
  readonly events: readonly TaskEvent[];
  readonly journal?: readonly Json[];
  /** Ends a pass that did nothing: after a while this commit, and the claim before it, may be left out of the history. */
  readonly isIdle?: true;
}

export interface Change {
  /** The task the command was about, as it is afterwards. */
  readonly task: Task;
  /** In the order in which observers learn of them: subtasks end before their parents. */
  readonly writes: readonly TaskWrite[];
  readonly removed: readonly TaskId[];
  /** On whose behalf it is done; absent if the engine does it of itself. */
  readonly by?: Actor;
  /** What the store writes into the audit log in the same transaction. */
  readonly audit?: readonly AuditEntry[];
  /** Present if and only if anything was removed. */
  readonly removal?: Removal;
}

/** Why a tree was removed, and when. */
export interface Removal {
  /**
   * `expired`: its retention was over; `crowdedOut`: the store was full, and no other had ended earlier; `deleted`: its
   * requestor said so; `answered`: its outcome was the answer to its request, and nobody knew its id.
   */
  readonly why: 'expired' | 'crowdedOut' | 'deleted' | 'answered';
  readonly at: number;
}

/** A rule's answer to a command. A refusal changes nothing. */
export type Verdict = Change | Refusal;

/** A task with all its ancestors, the nearest first. */
export interface Lineage {
  readonly task: Task;
  readonly ancestors: readonly Task[];
}

/** … and with all its descendants, parents before their children, siblings in their order. */
export interface Family extends Lineage {
  readonly descendants: readonly Task[];
}

/** The command was lawful and there was nothing to do. */
export function unchanged(task: Task): Change {
  return { task, writes: [], removed: [] };
}

/** The same decision, on somebody's behalf. */
export function onBehalfOf(by: Actor | undefined, verdict: Verdict): Verdict {
  return by === undefined || verdict instanceof Refusal ? verdict : { ...verdict, by };
}

/** The task after the command, under its next version. */
export function changed(
  task: Task,
  at: number,
  events: readonly TaskEvent[],
  journal?: readonly Json[],
): Change {
  return { task, writes: [write(task, at, events, journal)], removed: [] };
}

/** The whole tree goes, subtasks before those that started them. */
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

/** One commit out of two: the second rule sees what the first one left, and each task moves by one version. */
export function compose(first: Verdict, second: (task: Task) => Verdict): Verdict {
  return new Composition(first).and(second).verdict;
}

interface JoinedWrite extends TaskWrite {
  readonly events: TaskEvent[];
  readonly journal: Json[];
}

/** One commit out of several. What it takes to add a rule does not depend on how much was written before. */
export class Composition {
  readonly #writes = new Map<TaskId, JoinedWrite>();
  readonly #removed: TaskId[] = [];
  #removal: Removal | undefined;
  #refusal: Refusal | undefined;
  #task!: Task;

  constructor(first: Verdict) {
    this.#add(first);
  }

  /** A rule that follows a refusal is not asked. */
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
      // Deleted and set again: the later rule's order is the one that observers see.
      this.#writes.delete(task.id);
      this.#writes.set(task.id, {
        ...joined,
        at,
        task: before ? { ...task, version: before.task.version } : task,
        ...(isIdle && !before && { isIdle }),
      });
    }
    for (const id of verdict.removed) this.#removed.push(id);
    this.#removal = verdict.removal ?? this.#removal;
    this.#task = this.#writes.get(verdict.task.id)?.task ?? verdict.task;
  }
}
