/** A config file as JSON in which every value knows its line, so that whatever is wrong with it can be found. */
import { readFileSync } from 'node:fs';
import { type Duration, toMs } from '../model/duration.ts';
import { HoldfastError } from '../model/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../model/json.ts';

export class InvalidConfig extends HoldfastError {
  constructor(file: string, line: number | undefined, reason: string) {
    super(`${file}${line === undefined ? '' : `:${line}`}: ${reason}`);
  }
}

type Path = readonly (string | number)[];

export function readConfigFile(file: string): Entry {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new InvalidConfig(file, undefined, `it cannot be read: ${(error as Error).message}`);
  }
  return parseConfig(text, file);
}

export function parseConfig(written: string, file: string): Entry {
  // Some editors begin a file with a mark that nobody sees, and that no JSON begins with.
  const text = written.replace(/^\ufeff/, '');
  let value: Json;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const { message } = error as Error;
    const line = /\(line (\d+) column \d+\)/.exec(message)?.[1];
    const [what] = message.split(/ in JSON| \(line/) as [string];
    throw new InvalidConfig(file, line ? Number(line) : text.split('\n').length, `it is not JSON: ${what}.`);
  }
  const lines = new Map<string, number>();
  new Locator(text, lines).value([]);
  return new Entry(value, [], { file, lines });
}

/** A value of the file, and where it stands. */
export class Entry {
  readonly value: Json;
  readonly #path: Path;
  readonly #source: { readonly file: string; readonly lines: ReadonlyMap<string, number> };

  constructor(
    value: Json,
    path: Path,
    source: { readonly file: string; readonly lines: ReadonlyMap<string, number> },
  ) {
    this.value = value;
    this.#path = path;
    this.#source = source;
  }

  get file(): string {
    return this.#source.file;
  }

  refuse(reason: string): never {
    throw new InvalidConfig(this.file, this.#source.lines.get(nameOf(this.#path)), reason);
  }

  /** As people call it: `mcpServers.files.args[0]`. */
  get name(): string {
    return this.#path
      .map((part, at) => (typeof part === 'number' ? `[${part}]` : at === 0 ? part : `.${part}`))
      .join('');
  }

  key(name: string): Entry | undefined {
    const value = isJsonObject(this.value) && Object.hasOwn(this.value, name) ? this.value[name] : undefined;
    return value === undefined ? undefined : new Entry(value, [...this.#path, name], this.#source);
  }

  object(): JsonObject {
    return isJsonObject(this.value) ? this.value : this.refuse(`${this.#what()} must be an object.`);
  }

  entries(): (readonly [string, Entry])[] {
    return Object.keys(this.object()).map((name) => [name, this.key(name)!]);
  }

  /** Refuses keys that nobody knows, and says which was probably meant. */
  only(known: readonly string[]): this {
    for (const [name, entry] of this.entries()) {
      if (known.includes(name)) continue;
      const meant = nearest(name, known);
      const hint = meant === undefined ? `there are: ${known.join(', ')}` : `is "${meant}" meant?`;
      entry.refuse(`${this.#what()} has no key "${name}": ${hint}${meant === undefined ? '.' : ''}`);
    }
    return this;
  }

  text(): string {
    return typeof this.value === 'string' ? this.value : this.refuse(`${this.#what()} must be a text.`);
  }

  flag(): boolean {
    return typeof this.value === 'boolean'
      ? this.value
      : this.refuse(`${this.#what()} must be true or false.`);
  }

  count(least = 1): number {
    const { value } = this;
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least) return value;
    return this.refuse(`${this.#what()} must be a whole number of at least ${least}.`);
  }

  duration(): Duration {
    try {
      toMs(this.value as Duration);
      return this.value as Duration;
    } catch (error) {
      return this.refuse((error as Error).message);
    }
  }

  oneOf<const T extends string>(choices: readonly T[]): T {
    const chosen = choices.find((choice) => choice === this.value);
    return (
      chosen ?? this.refuse(`${this.#what()} must be one of ${choices.map((c) => `"${c}"`).join(', ')}.`)
    );
  }

  list(): Entry[] {
    if (!Array.isArray(this.value)) return this.refuse(`${this.#what()} must be a list.`);
    return this.value.map((value, at) => new Entry(value, [...this.#path, at], this.#source));
  }

  #what(): string {
    return this.#path.length === 0 ? 'the file' : `"${this.name}"`;
  }
}

function nameOf(path: Path): string {
  return JSON.stringify(path);
}

/** The known word that differs least, if it differs little enough to be meant. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const [best] = known
    .map((one) => ({ one, steps: distance(word.toLowerCase(), one.toLowerCase()) }))
    .sort((a, b) => a.steps - b.steps);
  return best && best.steps <= Math.max(2, word.length / 3) ? best.one : undefined;
}

function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, n) => n);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[to.length]!;
}

/** Walks a text that is known to be JSON, and notes the line on which each value, or its key, begins. */
class Locator {
  readonly #text: string;
  readonly #lines: Map<string, number>;
  #at = 0;
  #line = 1;

  constructor(text: string, lines: Map<string, number>) {
    this.#text = text;
    this.#lines = lines;
  }

  value(path: Path): void {
    this.#space();
    if (!this.#lines.has(nameOf(path))) this.#lines.set(nameOf(path), this.#line);
    const first = this.#text[this.#at];
    if (first === '{') this.#members('}', () => this.#member(path));
    else if (first === '[') this.#members(']', (n) => this.value([...path, n]));
    else if (first === '"') this.#string();
    else while (this.#at < this.#text.length && !/[\s,\]}]/.test(this.#text[this.#at]!)) this.#at++;
  }

  #members(end: string, read: (n: number) => void): void {
    this.#at++;
    for (let n = 0; ; n++) {
      this.#space();
      if (this.#text[this.#at] === ',') this.#at++;
      this.#space();
      if (this.#text[this.#at] === end) break;
      read(n);
    }
    this.#at++;
  }

  #member(path: Path): void {
    this.#space();
    const line = this.#line;
    const key = JSON.parse(this.#string()) as string;
    this.#space();
    this.#at++; // The colon.
    this.#lines.set(nameOf([...path, key]), line);
    this.value([...path, key]);
  }

  #string(): string {
    const from = this.#at++;
    while (this.#text[this.#at] !== '"') this.#at += this.#text[this.#at] === '\\' ? 2 : 1;
    this.#at++;
    return this.#text.slice(from, this.#at);
  }

  #space(): void {
    for (; /\s/.test(this.#text[this.#at] ?? ''); this.#at++) if (this.#text[this.#at] === '\n') this.#line++;
  }
}
