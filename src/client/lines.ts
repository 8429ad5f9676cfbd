/**
 * Messages out of what a program writes, one on each line. The SDK's own buffer copies and searches all that it holds
 * with every piece that comes, so that a result of some megabytes keeps everybody waiting for seconds; and an answer
 * that is none it only complains of, so that whoever asked waits for ever.
 */
import { deserializeMessage, type JSONRPCMessage, ReadBuffer } from '@modelcontextprotocol/client';
import { isJsonObject } from '../model/json.ts';

const newline = 10;

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
