import type { DoneTask, Task, TaskId } from '../../model/task.ts';

/** How many texts are remembered, and up to which length. */
const places = 2_048;
const longestRemembered = 8_192;

interface Said {
  readonly task: DoneTask;
  readonly serverInfo: object | undefined;
  readonly text: string;
}

/**
 * What was said of done tasks, which is never said otherwise: those who missed the end poll for it many at a time. The
 * task itself is compared, so there is nothing to invalidate; a store that makes a new one of each look is only not
 * spared anything. Remembered from the second time on: of tasks that are each looked at once, none is worth the room.
 */
export class DoneTexts {
  readonly #asked: (TaskId | undefined)[] = new Array(places);
  readonly #said: (Said | undefined)[] = new Array(places);

  of(task: Task, serverInfo: object | undefined, make: () => string): string {
    if (task.phase !== 'done') return make();
    const place = placeOf(task.id);
    const said = this.#said[place];
    if (said?.task === task && said.serverInfo === serverInfo) return said.text;
    const text = make();
    if (this.#asked[place] !== task.id) this.#asked[place] = task.id;
    else if (text.length <= longestRemembered) this.#said[place] = { task, serverInfo, text };
    return text;
  }
}

/** The ends of ids are random. */
function placeOf(id: TaskId): number {
  const last = id.length - 1;
  return ((id.charCodeAt(last) * 31 + id.charCodeAt(last - 1)) * 31 + id.charCodeAt(last - 2)) % places;
}
