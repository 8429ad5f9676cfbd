/** `tasks/list`, which only sessions have. */
import { Sealer } from '../access/seal.ts';
import type { Requests, TaskTree } from '../engine/requests.ts';
import type { JsonObject } from '../model/json.ts';
import { InvalidParams, NotOffered } from '../protocol/errors.ts';
import { anonymous, type Caller } from './caller.ts';
import { isNamedElsewhere } from './task-names.ts';

const pageSize = 50;
const cursorLifeMs = 24 * 3_600_000;

export async function taskList(
  requests: Requests,
  caller: Caller,
  { cursor }: { readonly cursor?: unknown },
): Promise<JsonObject> {
  if (caller.owner === anonymous)
    throw new NotOffered('tasks/list is not offered to callers that cannot be told apart: show a token.');
  const { dialect, sender, owner } = caller;
  const kind = sender.knowsSubtasks ? 'cursors with subtasks' : 'cursors';
  const cursors = new Sealer(await requests.secret('cursors'), `${kind} of ${owner}`);
  const from = opened(cursors, cursor, requests.now);
  const page = sender.knowsSubtasks
    ? await withSubtasks(requests, owner, from)
    : await roots(requests, owner, from);
  const { now } = requests;
  return {
    tasks: page.trees
      .filter(({ root }) => !isNamedElsewhere(root, caller))
      .map((tree) => dialect.listed(tree, now)),
    ...(page.next !== undefined && { nextCursor: cursors.seal(page.next, now + cursorLifeMs) }),
  };
}

interface Trees {
  readonly trees: readonly TaskTree[];
  /** Where the next page begins, if there is one. */
  readonly next: string | undefined;
}

/** A task in a list is shown as tasks/get would show it, subtasks' questions included. */
async function roots(requests: Requests, owner: string, from: string | undefined): Promise<Trees> {
  const page = await requests.list(owner, pageSize, from);
  const trees = await Promise.all(
    page.tasks.map(async (root) => (await requests.tree(root.id)) ?? { root, descendants: [] }),
  );
  return { trees, next: page.nextCursor };
}

/** Where a page of trees begins: in the tree of a root, behind one of its tasks; before that root, or anywhere. */
interface Place {
  readonly rootId?: string;
  readonly after?: Mark;
  /** The store's own cursor, behind that root. */
  readonly behind?: string;
}

/** A task's place in the list of its tree. It never changes, so nothing that is added later moves what was there. */
type Mark = readonly [createdAt: number, depth: number, id: string];

/** Tree after tree; of each what is new comes last, wherever in it that is. */
async function withSubtasks(requests: Requests, owner: string, from: string | undefined): Promise<Trees> {
  const trees: TaskTree[] = [];
  let place: Place = from === undefined ? {} : JSON.parse(from);
  while (true) {
    if (place.rootId !== undefined) {
      const { rootId, after, ...behind } = place;
      const rest = inOrder(await requests.allLinked(rootId), after);
      const room = pageSize - trees.length;
      trees.push(...rest.slice(0, room));
      if (rest.length > room)
        return { trees, next: JSON.stringify({ rootId, after: markOf(trees.at(-1)!), ...behind }) };
      if (behind.behind === undefined) return { trees, next: undefined };
      place = behind;
      if (trees.length === pageSize) return { trees, next: JSON.stringify(place) };
    }
    const { tasks, nextCursor } = await requests.list(owner, 1, place.behind);
    const [root] = tasks;
    if (!root) return { trees, next: undefined };
    place = { rootId: root.id, ...(nextCursor !== undefined && { behind: nextCursor }) };
  }
}

function inOrder(all: readonly TaskTree[], after: Mark | undefined): TaskTree[] {
  const sorted = all.toSorted((a, b) => compared(markOf(a), markOf(b)));
  return after ? sorted.filter((tree) => compared(markOf(tree), after) > 0) : sorted;
}

function markOf({ root: { createdAt, depth, id } }: TaskTree): Mark {
  return [createdAt, depth, id];
}

function compared(a: Mark, b: Mark): number {
  return a[0] - b[0] || a[1] - b[1] || (a[2] < b[2] ? -1 : Number(a[2] > b[2]));
}

function opened(cursors: Sealer, cursor: unknown, now: number): string | undefined {
  if (cursor === undefined) return undefined;
  const sealed = typeof cursor === 'string' ? cursors.open(cursor, now) : { problem: 'forged' as const };
  if ('value' in sealed) return sealed.value as string;
  throw new InvalidParams(
    sealed.problem === 'expired'
      ? 'This cursor has expired. Start again without one.'
      : 'This cursor was not made by this server for this caller. Start again without one.',
  );
}
