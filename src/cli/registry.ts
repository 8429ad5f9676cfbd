/** The handles of calls that were made on this machine. */
import { join } from 'node:path';
import type { HandleRecord, Handles } from '../client/handles.ts';
import type { Target } from './target.ts';
import { CommandFailed, WrongUsage } from './usage.ts';

const fewest = 6;
/** Eight letters of base 32 tell apart more calls than anybody makes. */
const usual = 8;

/** Where the registry is; undefined for the usual place. */
const places = new WeakMap<Handles, string | undefined>();

export async function openRegistry(file: string | undefined): Promise<Handles> {
  const { dataFolder, openHandles } = await import('../client.ts');
  const handles = openHandles(`sqlite:${file ?? join(dataFolder(), 'handles.db')}`);
  places.set(handles, file);
  return handles;
}

/** As much of an id as tells it from all others. */
export function shortId(id: string, handles: Handles): string {
  const others = handles.list().filter((record) => record.id !== id);
  for (let length = usual; length < id.length; length++)
    if (!others.some((other) => other.id.startsWith(id.slice(0, length)))) return id.slice(0, length);
  return id;
}

export function recordOf(id: string, handles: Handles): HandleRecord {
  const exact = handles.get(id);
  if (exact) return exact;
  if (!/^[a-z2-7]+$/.test(id)) throw new WrongUsage(`"${id}" is no id of a call`);
  if (id.length < fewest)
    throw new WrongUsage(`"${id}" is too short: give ${fewest} letters or more of an id`);
  const [found, ...more] = handles.list().filter((record) => record.id.startsWith(id));
  if (!found)
    throw new CommandFailed(
      `No call made here has the id ${id}: \`${command()} tasks list --all\` shows those that there are.`,
    );
  if (more.length > 0)
    throw new WrongUsage(`${more.length + 1} calls have an id that begins with ${id}: give more of it`);
  return found;
}

/** The command that comes back to a call, as whoever started this process would write it. */
export function comeBackWith(
  verb: string,
  id: string,
  { handles, target }: { readonly handles: Handles; readonly target?: Target },
  ...rest: readonly string[]
): string {
  const file = places.get(handles);
  const headers = (target?.kept.headers ?? []).map((name) => `--header '${name}: …'`);
  return [
    `${command()} tasks ${verb} ${shortId(id, handles)}`,
    ...rest,
    ...headers,
    ...(file === undefined ? [] : [`--handles ${quoted(file)}`]),
  ].join(' ');
}

/** As whoever started this process would call it. */
export function command(): string {
  return process.env.npm_command === 'exec' ? 'npx holdfast' : 'holdfast';
}

/** As a word of a shell. */
export function quoted(word: string): string {
  return /^[\w./:@-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
