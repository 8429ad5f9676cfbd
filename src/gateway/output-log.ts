/** What a program wrote, up to a limit: the beginning and the end are kept, and how much is missing in between. */
export class OutputLog {
  readonly #limit: number;
  readonly #head: Buffer[] = [];
  #headSize = 0;
  #tail = Buffer.alloc(0);
  #written = 0;
  #lines = 0;
  #lastLine = '';

  constructor(limit: number) {
    this.#limit = limit;
  }

  get lines(): number {
    return this.#lines;
  }

  /** The last line that is not empty, as far as it was written. */
  get lastLine(): string {
    return this.#lastLine;
  }

  write(chunk: Buffer): void {
    this.#written += chunk.length;
    const room = Math.ceil(this.#limit / 2) - this.#headSize;
    const first = chunk.subarray(0, Math.max(0, room));
    if (first.length > 0) this.#head.push(first);
    this.#headSize += first.length;
    const rest = chunk.subarray(first.length);
    const keep = Math.floor(this.#limit / 2);
    if (rest.length > 0) this.#tail = Buffer.from(Buffer.concat([this.#tail, rest]).subarray(-keep));
    if (keep === 0) this.#tail = Buffer.alloc(0);
    for (const byte of chunk) if (byte === 10) this.#lines++;
    const line = chunk.toString().trimEnd().split('\n').at(-1)?.trim();
    if (line) this.#lastLine = line.slice(0, 200);
  }

  end(): { readonly output: string; readonly omittedBytes: number } {
    const head = Buffer.concat(this.#head);
    const omittedBytes = this.#written - head.length - this.#tail.length;
    const gap = omittedBytes > 0 ? `\n… ${omittedBytes} bytes left out …\n` : '';
    const output =
      omittedBytes > 0 ? `${head}${gap}${this.#tail}` : Buffer.concat([head, this.#tail]).toString();
    return { output, omittedBytes };
  }
}
