/**
 * A stdio transport that starts its program only once. The SDK starts a second process to probe for the revision,
 * because some programs exit on any request before `initialize`. But a program may be slow to start, or allow only one
 * instance. Here the probe goes to the program itself. If it exits, it must be of an older revision: it is started
 * again, and the transport answers the probe.
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

/** The limit of one message in bytes. It is higher than that of a result, so a result cannot break the connection. */
const maxMessageSize = 64 * 1024 * 1024;

/** In bytes. */
const maxStderrSize = 1_000;

type RequestId = string | number;

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
  /** True if the program exits on the probe. */
  exitsOnProbe: boolean;
  /** The last line on standard error. It may explain why the program exited. */
  lastStderrLine: string | undefined;
  readonly #program: Program;
  #process: StdioClientTransport;
  /** The request id of the unanswered probe. */
  #probeId: RequestId | undefined;
  /** True if the probe was answered, or another message was sent. */
  #isProbed = false;
  #isClosed = false;

  /** With `exitsOnProbe` the probe is not sent. */
  constructor(program: Program, endsWhenAsked = false) {
    this.#program = program;
    this.exitsOnProbe = endsWhenAsked;
    this.#process = this.#newProcess();
  }

  /** With `pid` and `stderr` the SDK recognizes a program, and treats an unanswered probe as an older revision. */
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
    // A private field. If the SDK renames it, large messages become slow again.
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

  #refuseProbe(id: RequestId): void {
    const message = 'The program accepts no request before initialize.';
    this.onmessage?.({ jsonrpc: '2.0', id, error: { code: methodNotFound, message } });
  }
}

// --- Messages, one on each line -----------------------------------------------------------------------------

const newline = 10;

/**
 * Replaces the buffer of the SDK, which copies and searches all of its content for every chunk: a result of some
 * megabytes takes seconds. It also drops malformed answers, so that their requests are never answered.
 */
export class Lines extends ReadBuffer {
  readonly #maxLine: number;
  #pieces: Buffer[] = [];
  #size = 0;
  #lines: string[] = [];

  /** `maxLine` is in bytes. */
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

/** Undefined if the line is not JSON. */
function read(line: string): JSONRPCMessage | undefined {
  try {
    return deserializeMessage(line);
  } catch (error) {
    // Some programs write other text to standard output.
    if (error instanceof SyntaxError) return undefined;
    const value: unknown = JSON.parse(line);
    // The sender of the request handles a malformed answer.
    if (isJsonObject(value) && 'id' in value && !('method' in value))
      return value as unknown as JSONRPCMessage;
    throw error;
  }
}

// --- The environment of programs that we start --------------------------------------------------------------

/**
 * The environment for programs that the user of this process has chosen: all of it but Holdfast's settings, which
 * include the operator's token, and the variables that `isHidden` selects. Programs in a config get less
 * (`ProgramTransport`).
 */
export function inheritedEnvironment(
  isHidden = (_name: string, _value: string) => false,
): Record<string, string> {
  const visible = Object.entries(process.env as Record<string, string>).filter(
    ([name, value]) => !name.toUpperCase().startsWith('HOLDFAST_') && !isHidden(name, value),
  );
  return Object.fromEntries(visible);
}
