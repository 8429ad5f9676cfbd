/**
 * A stdio transport that starts its program only once. The SDK starts a second process to probe for the revision,
 * because some programs exit on any request before `initialize`. But a program may be slow to start, or allow only one
 * instance. Here the probe is sent to the program itself. If the program exits, it implements an older revision: it is
 * started once more, and the transport answers the probe in its place.
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

/** The maximum size of one message, in bytes. Results have a lower limit, so a result cannot break the connection. */
const maxMessageSize = 64 * 1024 * 1024;

/** How many bytes at the end of a chunk of standard error are searched for its last line. */
const maxStderrSize = 1_000;

type RequestId = string | number;

/** How to start a program. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  /** Additional variables. The SDK adds those that every program needs, such as PATH and HOME. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export class ProgramTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport['onmessage']>;
  /** True once the program is known to exit on the probe. Pass it to the transport of the next start. */
  exitsOnProbe: boolean;
  /** The last line on standard error since the last start. It may explain why the program exited. */
  lastStderrLine: string | undefined;
  readonly #program: Program;
  #process: StdioClientTransport;
  /** The request id of the probe, while the program has not answered it. */
  #probeId: RequestId | undefined;
  /** True once the probe was answered or another message was sent. After that, no message is treated as a probe. */
  #isProbed = false;
  #isClosed = false;

  /** `endsWhenAsked` is the initial `exitsOnProbe`. If true, the transport answers the probe without sending it. */
  constructor(program: Program, endsWhenAsked = false) {
    this.#program = program;
    this.exitsOnProbe = endsWhenAsked;
    this.#process = this.#newProcess();
  }

  /** The SDK recognizes a program by `pid` and `stderr`. It then treats an unanswered probe as an older revision. */
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
    const isProbe = 'method' in message && 'id' in message && message.method === 'server/discover';
    if (isProbe && !this.#isProbed) {
      const { id } = message;
      if (this.exitsOnProbe) return queueMicrotask(() => this.#refuseProbe(id));
      this.#probeId = id;
    } else this.#setProbed();
    return this.#process.send(message);
  }

  #setProbed(): void {
    this.#isProbed = true;
    this.#probeId = undefined;
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
    // Replaces a private field of the SDK. If the SDK renames it, large messages become slow again.
    Object.assign(transport, { _readBuffer: new Lines(maxMessageSize) });
    this.lastStderrLine = undefined;
    transport.stderr?.on('data', (chunk: Buffer) => {
      const line = chunk.subarray(-maxStderrSize).toString().trimEnd().split('\n').at(-1);
      if (line) this.lastStderrLine = line;
    });
    transport.onmessage = (message) => {
      if (!('method' in message) && message.id === this.#probeId) this.#setProbed();
      this.onmessage?.(message);
    };
    transport.onerror = (error) => this.onerror?.(error);
    transport.onclose = () => {
      const probeId = this.#probeId;
      if (probeId === undefined || this.#isClosed) this.onclose?.();
      else void this.#restart(probeId);
    };
    return transport;
  }

  async #restart(probeId: RequestId): Promise<void> {
    this.#probeId = undefined;
    this.exitsOnProbe = true;
    this.#process = this.#newProcess();
    try {
      await this.#process.start();
    } catch {
      this.onclose?.();
      return;
    }
    this.#refuseProbe(probeId);
  }

  /** Answers the probe as a program of an older revision would. */
  #refuseProbe(id: RequestId): void {
    const message = 'The program accepts no request before initialize.';
    this.onmessage?.({ jsonrpc: '2.0', id, error: { code: methodNotFound, message } });
  }
}

// --- Messages, one on each line -----------------------------------------------------------------------------

const newline = 10;

/**
 * Replaces the buffer of the SDK, for two reasons. The SDK copies and searches the whole buffer for every chunk, so a
 * result of some megabytes takes seconds. And it drops malformed answers, so their requests would wait without end;
 * here the sender of the request gets them.
 */
export class Lines extends ReadBuffer {
  readonly #maxLine: number;
  #pieces: Buffer[] = [];
  #size = 0;
  #lines: string[] = [];

  /** `maxLine`: the maximum length of a line, in bytes. `append` throws if a line is longer. */
  constructor(maxLine: number) {
    super();
    this.#maxLine = maxLine;
  }

  override append(chunk: Buffer): void {
    let begin = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, begin)) {
      this.#append(chunk.subarray(begin, end));
      this.#lines.push(Buffer.concat(this.#pieces, this.#size).toString());
      this.#pieces = [];
      this.#size = 0;
      begin = end + 1;
    }
    this.#append(chunk.subarray(begin));
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

  #append(piece: Buffer): void {
    this.#size += piece.length;
    if (this.#size > this.#maxLine) {
      this.clear();
      throw new Error(`A message has more than ${this.#maxLine} bytes`);
    }
    if (piece.length > 0) this.#pieces.push(piece);
  }
}

/**
 * The message in a line. Undefined if the line is not JSON. Throws if it is JSON, but neither a message nor an answer.
 */
function read(line: string): JSONRPCMessage | undefined {
  try {
    return deserializeMessage(line);
  } catch (error) {
    // Some programs write other text to standard output.
    if (error instanceof SyntaxError) return undefined;
    const value: unknown = JSON.parse(line);
    // A malformed answer is passed on, so that the sender of the request can handle it.
    if (isJsonObject(value) && 'id' in value && !('method' in value))
      return value as unknown as JSONRPCMessage;
    throw error;
  }
}

// --- The environment of programs that we start --------------------------------------------------------------

/**
 * The environment for programs that the user of this process has chosen: all variables of this process, except those of
 * Holdfast (`HOLDFAST_…`, which include the operator's token) and those for which `isHidden` returns true. Programs
 * from a config get fewer variables (`Program.env`).
 */
export function inheritedEnvironment(
  isHidden = (_name: string, _value: string) => false,
): Record<string, string> {
  const visible = Object.entries(process.env as Record<string, string>).filter(
    ([name, value]) => !name.toUpperCase().startsWith('HOLDFAST_') && !isHidden(name, value),
  );
  return Object.fromEntries(visible);
}
