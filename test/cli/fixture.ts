/** The server of these tests as a process that can be killed and started again, on the same port and store. */
import { join } from 'node:path';
import { sources } from '../kit/process.ts';
import { ServerProcess } from '../kit/server-process.ts';
import { temporaryFolder } from './terminal.ts';

export function serverIn(folder: string): string[] {
  return sources(join(import.meta.dirname, 'server.ts'), '--store', `sqlite:${join(folder, 'tasks.db')}`);
}

export class Fixture extends ServerProcess {
  readonly store: string;

  constructor(...more: string[]) {
    const folder = temporaryFolder();
    super((port) => [...serverIn(folder), '--port', port, ...more]);
    this.store = `sqlite:${join(folder, 'tasks.db')}`;
  }
}
