import type { DoneTask, Owner, Task, TaskId } from '../../model/task.ts';

/** How many texts are remembered, and up to which length. */
const places = 2_048;
const longestRemembered = 8_192;

/** How long what was read is believed: another process may remove a task before its time, and nobody here hears of it. */
const believedMs = 1_000;

interface Said {
  readonly task: DoneTask;
  readonly serverInfo: object | undefined;
  readonly text: string;
  readonly removals: number;
  until: number;
}

/** The moment before a look, and how many tasks had been removed by hand in this process until then. */
export interface Moment {
  readonly now: number;
  readonly removals: number;
}

/**
 * What was said of done tasks, which is never said otherwise: those who missed the end poll for it many at a time, and
 * for a second each of them is answered without a look at the store. Longer than that the task itself is compared, so
 * there is nothing to invalidate; a store that makes a new one of each look is only spared less. Remembered from the
 * second time on: of tasks that are each looked at once, none is worth the room.
 */
export class DoneTexts {
  readonly #asked: (TaskId | undefined)[] = new Array(places);
  readonly #said: (Said | undefined)[] = new Array(places);

  /** What was said to this owner a moment ago, if it can be said again unseen. */
  recall(
    id: TaskId,
    owner: Owner,
    serverInfo: object | undefined,
    moment: Moment,
  ): Readonly<Said> | undefined {
    const said = this.#said[placeOf(id)];
    if (!said || said.task.id !== id || said.task.owner !== owner || said.serverInfo !== serverInfo)
      return undefined;
    return moment.now < said.until && moment.removals === said.removals ? said : undefined;
  }

  /** What is said of a task that has just been read, and seen by its owner. */
  of(task: Task, serverInfo: object | undefined, moment: Moment, make: () => string): string {
    if (task.phase !== 'done') return make();
    const place = placeOf(task.id);
    const until = Math.min(moment.now + believedMs, task.purgeAt ?? Number.POSITIVE_INFINITY);
    const said = this.#said[place];
    if (said?.task === task && said.serverInfo === serverInfo && said.removals === moment.removals) {
      said.until = until;
      return said.text;
    }
    const text = make();
    if (this.#asked[place] !== task.id) this.#asked[place] = task.id;
    else if (text.length <= longestRemembered)
      this.#said[place] = { task, serverInfo, text, removals: moment.removals, until };
    return text;
  }
}

/** The ends of ids are random. */
function placeOf(id: TaskId): number {
  const last = id.length - 1;
  // Past the beginning of a short one is no number, and any place will do.
  const hash = (id.charCodeAt(last) * 31 + id.charCodeAt(last - 1)) * 31 + id.charCodeAt(last - 2);
  return hash % places || 0;
}
