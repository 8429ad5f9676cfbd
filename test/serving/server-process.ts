/** Servers as real processes, which tests stop and kill. Each is ended by its own pid. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { onTestFinished } from 'vitest';
import { callParams, type Message, RawClient, type RawClientOptions, rawMessage } from './raw-client.ts';
import type { ServerSettings } from './server.ts';

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const running = new Set<ChildProcess>();

// A test that fails half-way must not leave its servers at work.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

class Program {
  readonly child: ChildProcess;
  /** Resolves when the process is gone. */
  readonly exit: Promise<Exit>;
  protected readonly lines: Interface;
  #complaints = '';

  constructor(program: string, args: readonly string[]) {
    const path = join(import.meta.dirname, program);
    this.child = spawn(process.execPath, ['--conditions=holdfast-source', path, ...args], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    running.add(this.child);
    this.child.stdin!.on('error', () => {}); // It may be dead already.
    this.child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#complaints += text;
    });
    this.lines = createInterface({ input: this.child.stdout! });
    this.exit = once(this.child, 'close').then(([code, signal]) => {
      running.delete(this.child);
      return { code, signal } as Exit;
    });
  }

  /** What it wrote to standard error. */
  get complaints(): string {
    return this.#complaints;
  }

  kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<Exit> {
    this.child.kill(signal);
    return this.exit;
  }
}

/** A server on a port. */
export class HttpProcess extends Program {
  url = '';

  client(options?: RawClientOptions): RawClient {
    return new RawClient(this.url, options);
  }

  async ready(): Promise<this> {
    const gone = this.exit.then(() => {
      throw new Error(`The server ended before it was ready: ${this.complaints}`);
    });
    const [line] = (await Promise.race([once(this.lines, 'line'), gone])) as [string];
    this.url = line.replace(/^ready /, '');
    return this;
  }
}

/** A server for the tests of a file, which has to end it. */
export function startServer(settings: ServerSettings): Promise<HttpProcess> {
  return new HttpProcess('server.ts', [JSON.stringify(settings)]).ready();
}

/** A server that goes with the test. */
export function serve(settings: ServerSettings): Promise<HttpProcess> {
  return passing(new HttpProcess('server.ts', [JSON.stringify(settings)])).ready();
}

/** The fixture server of the contract, for the tests of a file. */
export function startFixture(...args: readonly string[]): Promise<HttpProcess> {
  return fixture(args).ready();
}

export function serveFixture(...args: readonly string[]): Promise<HttpProcess> {
  return passing(fixture(args)).ready();
}

function fixture(args: readonly string[]): HttpProcess {
  return new HttpProcess('../fixture/main.ts', ['--port', '0', ...args]);
}

function passing<P extends Program>(program: P): P {
  onTestFinished(async () => {
    await program.kill();
  });
  return program;
}

/** A server on standard input and output, and its client. */
export class StdioProcess extends Program {
  readonly #options: RawClientOptions;
  readonly #messages: Message[] = [];
  readonly #waiting = new Set<() => void>();

  constructor(settings: ServerSettings, options: RawClientOptions = {}) {
    super('server.ts', [JSON.stringify({ ...settings, stdio: true })]);
    this.#options = options;
    this.lines.on('line', (line) => {
      this.#messages.push(JSON.parse(line) as Message);
      for (const look of this.#waiting) look();
    });
  }

  /** Sends a request and gives its id. */
  send(method: string, params: object): number {
    const message = rawMessage(method, params, this.#options);
    this.tell(message);
    return message.id;
  }

  call(tool: string, input?: object): number {
    return this.send('tools/call', callParams(tool, input));
  }

  async request(method: string, params: object): Promise<Message> {
    const id = this.send(method, params);
    return this.until((message) => message.id === id);
  }

  /** A notification, or anything else. */
  tell(message: object): void {
    this.child.stdin!.write(`${JSON.stringify(message)}\n`);
  }

  /** The first message of that kind, whether it has come or is to come. */
  until(isIt: (message: Message) => boolean): Promise<Message> {
    return new Promise((resolve) => {
      const look = () => {
        const found = this.#messages.find(isIt);
        if (!found) return;
        this.#waiting.delete(look);
        resolve(found);
      };
      this.#waiting.add(look);
      look();
    });
  }

  /** Everything that the server has said. */
  get messages(): readonly Message[] {
    return this.#messages;
  }

  /** The client goes away. */
  end(): Promise<Exit> {
    this.child.stdin!.end();
    return this.exit;
  }
}

export function serveOnStdio(settings: ServerSettings, options?: RawClientOptions): StdioProcess {
  return passing(new StdioProcess(settings, options));
}
