/** Twenty and some secrets, each in another place of a task's life, and the search for them in files. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

export const places = [
  'argument',
  'nested argument',
  'step name',
  'step value',
  'second step value',
  'failed attempt',
  'thrown error',
  'protocol error',
  'protocol error data',
  'question key',
  'question message',
  'question schema',
  'answer',
  'status message',
  'progress message',
  'result',
  'structured result',
  'large result',
  'subtask argument',
  'subtask result',
  'event name',
  'event value',
  'cancel reason',
  'idempotency key',
  'session opening',
] as const;

export type Place = (typeof places)[number];

/** The same in every process of a test. */
export function secretIn(place: Place): string {
  return `s3cret-${createHash('sha256').update(`secret ${place}`).digest('hex').slice(0, 24)}`;
}

/** Every file that belongs to a database. Only for a process that does not have it open. */
function filesOf(file: string): string[] {
  const folder = dirname(file);
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.startsWith(basename(file)) || name.includes('backup'))
    .map((name) => join(folder, name))
    .filter((path) => existsSync(path) && statSync(path).isFile());
}

/** Where the bytes of which secret are, in all files of a database. */
export function foundIn(file: string): { readonly places: Place[]; readonly files: string[] } {
  const files = filesOf(file);
  const bytes = files.map((path) => readFileSync(path));
  return {
    files: files.map((path) => basename(path)),
    places: places.filter((place) => bytes.some((content) => content.includes(secretIn(place)))),
  };
}
