/** The fixture server as a process of its own, with every dialect on, on a port of its choice. */
import { join } from 'node:path';
import { ServerProcess } from '../../kit/server-process.ts';

export function fixtureArguments(...options: string[]): string[] {
  const main = join(import.meta.dirname, '../../fixture/main.ts');
  const node = ['--conditions=holdfast-source', '--disable-warning=ExperimentalWarning'];
  return [...node, main, '--drafts', ...options];
}

/** For processes that do not inherit the environment: what Node compiled is shared, so they start in half the time. */
export const compileCache = { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE! };

/** For clients that start their server themselves. */
export const stdioFixture = {
  command: process.execPath,
  args: fixtureArguments('--stdio'),
  env: compileCache,
};

/** After `kill`, `start` runs another one on the same port and store. */
export function startFixture(...options: string[]): Promise<ServerProcess> {
  const command = (port: string) => [process.execPath, ...fixtureArguments('--port', port, ...options)];
  return new ServerProcess(command).start();
}
