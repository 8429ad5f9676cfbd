/** The fixture server as a process of its own, with every dialect on, on a port of its choice. */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServerProcess } from '../../kit/server-process.ts';

const main = join(import.meta.dirname, '../../fixture/main.ts');

export function fixtureArguments(...options: string[]): string[] {
  return [
    '--conditions=holdfast-source',
    '--disable-warning=ExperimentalWarning',
    main,
    '--drafts',
    ...options,
  ];
}

/** Lets the many processes of a run share what Node compiled: they start in half the time. */
export const compileCache = { NODE_COMPILE_CACHE: join(tmpdir(), 'holdfast-compile-cache') };

/** For clients that start their server themselves. */
export const stdioFixture = {
  command: process.execPath,
  args: fixtureArguments('--stdio'),
  env: compileCache,
};

export type Fixture = ServerProcess;

export interface FixtureOptions {
  readonly store?: string;
  /** As the command line takes them: TOKEN=OWNER,... */
  readonly tokens?: string;
  readonly conformance?: boolean;
}

/** After `kill`, `start` runs another one on the same port and store. */
export function startFixture(options: FixtureOptions = {}): Promise<Fixture> {
  const { store = 'memory:', tokens, conformance = false } = options;
  const words = ['--store', store];
  if (tokens !== undefined) words.push('--tokens', tokens);
  if (conformance) words.push('--conformance');
  return new ServerProcess((port) => [
    process.execPath,
    ...fixtureArguments('--port', port, ...words),
  ]).start();
}
