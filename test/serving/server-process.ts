/** Servers as real processes, which tests stop and kill. They end with the test that started them, or with its file. */
import { join } from 'node:path';
import { untilEnd } from '../kit/lifetime.ts';
import { PipeClient } from '../kit/pipe-client.ts';
import { type Exit, Program, sources } from '../kit/process.ts';
import { HttpProcess } from '../kit/server-process.ts';
import type { RawClientOptions } from './raw-client.ts';
import type { ServerSettings } from './server.ts';

export { HttpProcess } from '../kit/server-process.ts';

export function serve(settings: ServerSettings): Promise<HttpProcess> {
  return serveProgram('serving/server.ts', JSON.stringify(settings));
}

export function serveProgram(program: string, ...args: readonly string[]): Promise<HttpProcess> {
  return untilEnd(new HttpProcess(program, ...args)).ready();
}

export function serveFixture(...args: readonly string[]): Promise<HttpProcess> {
  return serveProgram('fixture/main.ts', '--port', '0', ...args);
}

/** A server on standard input and output, and its client. */
export class StdioProcess extends Program implements AsyncDisposable {
  readonly client: PipeClient;

  constructor(program: string, args: readonly string[], options?: RawClientOptions) {
    super(sources(join(import.meta.dirname, '..', program), ...args));
    this.client = new PipeClient(this.child.stdout!, this.child.stdin!, options);
    untilEnd(this);
  }

  /** The client goes away. */
  end(): Promise<Exit> {
    this.child.stdin!.end();
    return this.exit;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }
}

export function serveOnStdio(settings: ServerSettings, options?: RawClientOptions): StdioProcess {
  return new StdioProcess('serving/server.ts', [JSON.stringify({ ...settings, stdio: true })], options);
}

export function fixtureOnStdio(args: readonly string[], options?: RawClientOptions): StdioProcess {
  return new StdioProcess('fixture/main.ts', ['--stdio', ...args], options);
}
