/**
 * A transport to a program on its standard input and output that starts it once. The SDK's own starts a second one only
 * to ask it which revision it speaks, because some programs end when they are asked anything before `initialize`; that
 * is much for a program that is slow to start, and too much for one of which there may be only one. Here the program
 * itself is asked. One that ends over it is started again, and the question is answered in its place: it is an older
 * one.
 */
import {
  deserializeMessage,
  type JSONRPCMessage,
  ReadBuffer,
  type Transport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { methodNotFound } from '../../dialects/json-rpc.ts';
import { isJsonObject } from '../../model/json.ts';

/** In bytes, of one message: more than a result may have, so that none takes the connection along. */
const largestMessage = 64 * 1024 * 1024;

/** In bytes. */
const longestComplaint = 1_000;

type RequestId = string | number;

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  /** In addition to the few variables that every program needs, such as PATH and HOME: the SDK adds those. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export class ProgramTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport['onmessage']>;
  /** It ended when it was asked the question of the beginning. */
  exitsOnProbe: boolean;
  /** The last line that it wrote beside the protocol, which may say why it ended. */
  lastStderrLine: string | undefined;
  readonly #program: Program;
  #process: StdioClientTransport;
  /** The question of the beginning, as long as it has not been answered. */
  #asked: RequestId | undefined;
  /** It has answered, or has been told something else than the question. */
  #isUnderWay = false;
  #isClosed = false;

  /** A program that is known to end when it is asked is not asked again. */
  constructor(program: Program, endsWhenAsked = false) {
    this.#program = program;
    this.exitsOnProbe = endsWhenAsked;
    this.#process = this.#newProcess();
  }

  /** By this and `stderr` the SDK knows a program: one that does not answer the question may still be an older one. */
  get pid(): number | null {
    return this.#process.pid;
  }

  get stderr() {
    return this.#process.stderr;
  }

  start(): Promise<void> {
    return this.#process.start();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#process.close();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const isQuestion = 'method' in message && 'id' in message && message.method === 'server/discover';
    if (isQuestion && !this.#isUnderWay) {
      const { id } = message;
      if (this.exitsOnProbe) return queueMicrotask(() => this.#refuse(id));
      this.#asked = id;
    } else this.#setUnderWay();
    return this.#process.send(message);
  }

  #setUnderWay(): void {
    this.#isUnderWay = true;
    this.#asked = undefined;
  }

  #newProcess(): StdioClientTransport {
    const { command, args, env, cwd } = this.#program;
    const transport = new StdioClientTransport({
      command,
      args: [...args],
      env,
      stderr: 'pipe',
      ...(cwd !== undefined && { cwd }),
    });
    // Not public: if it is called otherwise one day, large messages are read slowly again.
    Object.assign(transport, { _readBuffer: new Lines(largestMessage) });
    this.lastStderrLine = undefined;
    transport.stderr?.on('data', (chunk: Buffer) => {
      const line = chunk.subarray(-longestComplaint).toString().trimEnd().split('\n').at(-1);
      if (line) this.lastStderrLine = line;
    });
    transport.onmessage = (message) => {
      if (!('method' in message) && message.id === this.#asked) this.#setUnderWay();
      this.onmessage?.(message);
    };
    transport.onerror = (error) => this.onerror?.(error);
    transport.onclose = () => {
      const asked = this.#asked;
      if (asked === undefined || this.#isClosed) this.onclose?.();
      else void this.#startAgain(asked);
    };
    return transport;
  }

  async #startAgain(asked: RequestId): Promise<void> {
    this.#asked = undefined;
    this.exitsOnProbe = true;
    this.#process = this.#newProcess();
    try {
      await this.#process.start();
    } catch {
      this.onclose?.();
      return;
    }
    this.#refuse(asked);
  }

  #refuse(id: RequestId): void {
    const message = 'It is not asked before initialize.';
    this.onmessage?.({ jsonrpc: '2.0', id, error: { code: methodNotFound, message } });
  }
}

// --- Messages, one on each line -----------------------------------------------------------------------------

const newline = 10;

/**
 * The SDK's own buffer copies and searches all that it holds with every chunk, so that a result of some megabytes takes
 * seconds; and it only reports an answer that is malformed, so that its request is never answered.
 */
export class Lines extends ReadBuffer {
  readonly #longest: number;
  #pieces: Buffer[] = [];
  #size = 0;
  #lines: string[] = [];

  /** The longest line, in bytes. */
  constructor(longest: number) {
    super();
    this.#longest = longest;
  }

  override append(chunk: Buffer): void {
    let begin = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, begin)) {
      this.#hold(chunk.subarray(begin, end));
      this.#lines.push(Buffer.concat(this.#pieces, this.#size).toString());
      this.#pieces = [];
      this.#size = 0;
      begin = end + 1;
    }
    this.#hold(chunk.subarray(begin));
  }

  override readMessage(): JSONRPCMessage | null {
    for (let line = this.#lines.shift(); line !== undefined; line = this.#lines.shift()) {
      const message = read(line);
      if (message) return message;
    }
    return null;
  }

  override clear(): void {
    this.#pieces = [];
    this.#size = 0;
    this.#lines = [];
  }

  #hold(piece: Buffer): void {
    this.#size += piece.length;
    if (this.#size > this.#longest) {
      this.clear();
      throw new Error(`A message has more than ${this.#longest} bytes`);
    }
    if (piece.length > 0) this.#pieces.push(piece);
  }
}

/** Undefined if it is none. */
function read(line: string): JSONRPCMessage | undefined {
  try {
    return deserializeMessage(line);
  } catch (error) {
    // Some programs write other things among their messages.
    if (error instanceof SyntaxError) return undefined;
    const said: unknown = JSON.parse(line);
    // What is wrong with an answer is for whoever asked to say.
    if (isJsonObject(said) && 'id' in said && !('method' in said)) return said as unknown as JSONRPCMessage;
    throw error;
  }
}

// --- The environment of programs that we start --------------------------------------------------------------

/**
 * For programs that run on behalf of whoever started this process: all of it but the settings of Holdfast, of which the
 * operator's token is one, and what the caller hides besides. Programs of a config get less: `ProgramTransport`.
 */
export function inheritedEnvironment(
  isHidden = (_name: string, _value: string) => false,
): Record<string, string> {
  const visible = Object.entries(process.env as Record<string, string>).filter(
    ([name, value]) => !name.toUpperCase().startsWith('HOLDFAST_') && !isHidden(name, value),
  );
  return Object.fromEntries(visible);
}
