/** Opens a database in a process of its own: as a user who owns nothing, or where opening might never return. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { HoldfastError } from '../../../src/model/errors.ts';
import { openSqlite } from '../../../src/sqlite.ts';

/** Root, who runs these tests, may write anywhere; nobody may not. */
export const nobody = 65_534;

export async function failureToOpen(
  file: string,
  user?: number,
): Promise<Pick<HoldfastError, 'code' | 'message'>> {
  const { stdout } = await promisify(execFile)(process.execPath, [import.meta.filename, file], {
    timeout: 60_000,
    killSignal: 'SIGKILL',
    ...(user !== undefined && { uid: user, gid: user }),
  });
  return JSON.parse(stdout);
}

if (process.argv[1] === import.meta.filename) {
  const failure = await openSqlite(process.argv[2]!).then(
    () => ({ code: 'none', message: 'It was opened.' }),
    ({ code, message }: HoldfastError) => ({ code, message }),
  );
  console.log(JSON.stringify(failure));
  process.exit();
}
