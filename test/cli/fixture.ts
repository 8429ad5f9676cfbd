/** The fixture server with more tools, as a process that can be killed and restarted on the same port and store. */
import { join } from 'node:path';
import { sources } from '../kit/process.ts';
import { ServerProcess } from '../kit/server-process.ts';
import { temporaryFolder } from './terminal.ts';

export function serverIn(folder: string): string[] {
  const [main, tools] = ['../fixture/main.ts', 'tools.ts'].map((file) => join(import.meta.dirname, file));
  return sources(main!, '--more', tools!, '--store', `sqlite:${join(folder, 'tasks.db')}`);
}

export class Fixture extends ServerProcess {
  readonly store: string;

  constructor(...more: string[]) {
    const folder = temporaryFolder();
    super((port) => [...serverIn(folder), '--port', port, ...more]);
    this.store = `sqlite:${join(folder, 'tasks.db')}`;
  }
}
