/**
 * Measures the collections in the objects of a process with the debugger, including private fields. After all work has
 * ended, every collection must be as small as before.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { join } from 'node:path';

/** Sizes of collections and counters by class and field. */
export type Holdings = ReadonlyMap<string, number>;

/** Caches with their own limit in size or time. */
const caches = new Set([
  'CorruptTasks.#tasks',
  'FastPath.#senders',
  'AdmissionControl.#goodHosts',
  'HttpSessions.#live',
  'KnownSessions.#byOwner',
  'MinuteCounts.#minutes',
  'ParsedTasks.#remembered',
  'TaskQuota.#counted',
  'Rows.#found',
  'Slots.#ofTool',
  'SqliteQueue.#alive',
]);

interface Remote {
  readonly type: string;
  readonly subtype?: string;
  readonly className?: string;
  readonly description?: string;
  readonly objectId?: string;
  readonly value?: unknown;
}

interface Property {
  readonly name: string;
  readonly value?: Remote;
}

interface Properties {
  readonly result: readonly Property[];
  readonly privateProperties?: readonly Property[];
  readonly internalProperties?: readonly Property[];
}

/** The measured objects, where the debugger finds them. */
const global = globalThis as { held?: { readonly root: unknown; readonly seen: Set<unknown> } };
const session = new Session();
session.connect();
const ours = classesIn(new URL('../src', import.meta.url).pathname);

export function holdingsOf(root: unknown): Holdings {
  const holdings = new Map<string, number>();
  global.held = { root, seen: new Set() };
  const start = post<{ result: Remote }>('Runtime.evaluate', { expression: 'held.root' });
  walk(start.result, '', holdings);
  delete global.held;
  return holdings;
}

/** Collections that are larger than before the work. */
export function* leftOver(before: Holdings, after: Holdings): Generator<string> {
  for (const [place, size] of after) {
    const atRest = before.get(place) ?? 0;
    if (size > atRest && !caches.has(place)) yield `${place} holds ${size}, at rest ${atRest}`;
  }
}

function walk(remote: Remote, place: string, holdings: Map<string, number>): void {
  const add = (size: number) => holdings.set(place, (holdings.get(place) ?? 0) + size);
  if (remote.type === 'number' && place === 'Slots.#taken') return void add(remote.value as number);
  if (!remote.objectId || !isNew(remote.objectId)) return;
  const { subtype, className = '' } = remote;
  const isCollection = subtype === 'map' || subtype === 'set' || subtype === 'array';
  const isPlain = className === 'Object' || isCollection;
  if (!isPlain && !ours.has(className)) return;
  if (isCollection) add(Number(/\((\d+)\)/.exec(remote.description ?? '')?.[1] ?? 0));
  for (const { name, value } of subtype === 'map' || subtype === 'set' ? entries(remote) : fields(remote))
    if (value) walk(value, isPlain ? place : `${className}.${name}`, holdings);
}

function fields({ objectId }: Remote): readonly Property[] {
  const { result, privateProperties = [] } = properties(objectId!);
  return [...result.filter(({ name }) => name !== '__proto__'), ...privateProperties];
}

/** The keys and values of a map, or the members of a set. */
function entries({ objectId }: Remote): readonly Property[] {
  const { internalProperties = [] } = properties(objectId!);
  const list = internalProperties.find(({ name }) => name === '[[Entries]]')?.value;
  const pairs = properties(list!.objectId!).result.filter(({ name }) => /^\d+$/.test(name));
  return pairs.flatMap(({ value }) =>
    properties(value!.objectId!).result.filter(({ name }) => name === 'key' || name === 'value'),
  );
}

function properties(objectId: string): Properties {
  return post('Runtime.getProperties', { objectId, ownProperties: true });
}

/** The debugger assigns new ids at every read, so the objects themselves are compared. */
function isNew(objectId: string): boolean {
  const functionDeclaration =
    'function () { return !held.seen.has(this) && held.seen.add(this) !== undefined; }';
  const order = { objectId, functionDeclaration, returnByValue: true };
  return post<{ result: Remote }>('Runtime.callFunctionOn', order).result.value === true;
}

/** The debugger of the same thread answers at once. */
function post<T>(method: string, order: object): T {
  let answer: unknown;
  session.post(method, order, (error, given) => {
    if (error) throw error;
    answer = given;
  });
  return answer as T;
}

function classesIn(folder: string): Set<string> {
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /\.ts$/.test(file),
  );
  const named = sources.flatMap((file) => [
    ...readFileSync(join(folder, file), 'utf8').matchAll(/^(?:export )?(?:abstract )?class (\w+)/gm),
  ]);
  return new Set(named.map(([, name]) => name!));
}
