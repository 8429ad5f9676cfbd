/** Servers as real processes, which tests stop and kill. */
import { Inbox } from '../kit/inbox.ts';
import { untilEnd } from '../kit/lifetime.ts';
import { type Exit, Program, sources } from '../kit/process.ts';
import { HttpProcess } from '../kit/server-process.ts';
import { callParams, type Message, type RawClientOptions, rawMessage } from './raw-client.ts';
import type { ServerSettings } from './server.ts';

export { HttpProcess } from '../kit/server-process.ts';

/** A server for the tests of a file, which has to end it. */
export function startServer(settings: ServerSettings): Promise<HttpProcess> {
  return new HttpProcess('serving/server.ts', JSON.stringify(settings)).ready();
}

/** A server that ends with the test. */
export function serve(settings: ServerSettings): Promise<HttpProcess> {
  return serveProgram('serving/server.ts', JSON.stringify(settings));
}

export function serveProgram(program: string, ...args: readonly string[]): Promise<HttpProcess> {
  return untilEnd(new HttpProcess(program, ...args)).ready();
}

/** The fixture server of the contract, for the tests of a file. */
export function startFixture(...args: readonly string[]): Promise<HttpProcess> {
  return new HttpProcess('fixture/main.ts', '--port', '0', ...args).ready();
}

export function serveFixture(...args: readonly string[]): Promise<HttpProcess> {
  return serveProgram('fixture/main.ts', '--port', '0', ...args);
}

/** A server on standard input and output, and its client. */
export class StdioProcess extends Program {
  readonly #inbox = new Inbox(this.child.stdout!);
  /** Everything that the server has sent. */
  readonly messages = this.#inbox.messages;
  readonly #options: RawClientOptions;

  constructor(settings: ServerSettings, options: RawClientOptions = {}) {
    super(sources(`${import.meta.dirname}/server.ts`, JSON.stringify({ ...settings, stdio: true })));
    this.#options = options;
  }

  /** Sends a request and returns its id. */
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

  /** The first message of that kind, whether it has come or is to come. */
  until(isIt: (message: Message) => boolean): Promise<Message> {
    return this.#inbox.message(isIt);
  }

  /** The client goes away. */
  end(): Promise<Exit> {
    this.child.stdin!.end();
    return this.exit;
  }
}

export function serveOnStdio(settings: ServerSettings, options?: RawClientOptions): StdioProcess {
  return untilEnd(new StdioProcess(settings, options));
}
