/** Reads a config file as JSON, and records the line of every value for error messages. */
import { readFileSync } from 'node:fs';
import { type Duration, toMs } from '../../model/duration.ts';
import { InvalidOptions } from '../../model/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../model/json.ts';

function invalidConfig(file: string, line: number | undefined, reason: string): InvalidOptions {
  return new InvalidOptions('INVALID_CONFIG', `${file}${line === undefined ? '' : `:${line}`}: ${reason}`);
}

/** The keys and indexes that lead from the root of the file to a value. */
type Path = readonly (string | number)[];

export function readConfigFile(file: string): Entry {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw invalidConfig(file, undefined, `cannot read the file: ${(error as Error).message}`);
  }
  return parseConfig(text, file);
}

export function parseConfig(content: string, file: string): Entry {
  // Some editors write a byte order mark, which JSON does not allow.
  const text = content.replace(/^\ufeff/, '');
  let value: Json;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const { message } = error as Error;
    const line = /\(line (\d+) column \d+\)/.exec(message)?.[1];
    const [what] = message.split(/ in JSON| \(line/) as [string];
    // Not every message of V8 contains a position. Without one, the last line is the best guess.
    throw invalidConfig(file, line ? Number(line) : text.split('\n').length, `not valid JSON: ${what}.`);
  }
  return new Entry(value, [], { file, lines: linesIn(text) });
}

/** Converts an entry to a value, or throws if the entry is invalid. */
type Reader = (entry: Entry) => unknown;

/** The values that a table of readers returns. Every key is optional. */
export type Fields<R extends Readonly<Record<string, Reader>>> = {
  readonly [K in keyof R]?: ReturnType<R[K]>;
};

/** A file, and the line of each value. */
type Source = { readonly file: string; readonly lines: ReadonlyMap<string, number> };

/** A value of the file, and its path. The methods that read a value throw if its type does not fit. */
export class Entry {
  readonly value: Json;
  readonly #path: Path;
  readonly #source: Source;

  constructor(value: Json, path: Path, source: Source) {
    this.value = value;
    this.#path = path;
    this.#source = source;
  }

  /** Throws an error that names the file and the line of this value. */
  refuse(reason: string): never {
    throw invalidConfig(this.#source.file, this.#source.lines.get(JSON.stringify(this.#path)), reason);
  }

  /** The name of the server or command that this value belongs to: the second key of its path. */
  get topic(): string {
    return String(this.#path[1]);
  }

  /** Undefined if this value is not an object or does not have the key. */
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

  /** An object with the same keys and the values that `read` returns, without the entries that are not included. */
  map<T>(read: (entry: Entry) => T, isIncluded = (_entry: Entry) => true): Readonly<Record<string, T>> {
    const included = this.entries().filter(([, entry]) => isIncluded(entry));
    return Object.fromEntries(included.map(([name, entry]) => [name, read(entry)]));
  }

  /** Throws on an unknown key, and suggests the key that was probably intended. */
  only(known: readonly string[]): this {
    for (const [name, entry] of this.entries()) {
      if (known.includes(name)) continue;
      const suggestion = nearest(name, known);
      const hint =
        suggestion === undefined ? `use one of ${known.join(', ')}.` : `did you mean "${suggestion}"?`;
      entry.refuse(`unknown key "${name}" in ${this.#what()}: ${hint}`);
    }
    return this;
  }

  /** Reads the keys that are present. */
  fields<R extends Readonly<Record<string, Reader>>>(readers: R): Fields<R> {
    const read = Object.entries(readers).flatMap(([key, reader]) => {
      const entry = this.key(key);
      return entry ? [[key, reader(entry)]] : [];
    });
    return Object.fromEntries(read);
  }

  text(): string {
    return typeof this.value === 'string' ? this.value : this.refuse(`${this.#what()} must be a string.`);
  }

  flag(): boolean {
    return typeof this.value === 'boolean'
      ? this.value
      : this.refuse(`${this.#what()} must be true or false.`);
  }

  count(): number {
    const { value } = this;
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1) return value;
    return this.refuse(`${this.#what()} must be a whole number of at least 1.`);
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
    if (!Array.isArray(this.value)) return this.refuse(`${this.#what()} must be an array.`);
    return this.value.map((value, at) => new Entry(value, [...this.#path, at], this.#source));
  }

  /** The path as users write it: `"mcpServers.files.args[0]"`. */
  #what(): string {
    if (this.#path.length === 0) return 'the file';
    const parts = this.#path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`));
    return `"${parts.join('').slice(1)}"`;
  }
}

/** The known word with the smallest edit distance. Undefined if that is too large for a typo. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const [best] = known
    .map((one) => ({ one, steps: distance(word.toLowerCase(), one.toLowerCase()) }))
    .sort((a, b) => a.steps - b.steps);
  return best && best.steps <= Math.max(2, word.length / 3) ? best.one : undefined;
}

/** The Levenshtein distance. */
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

/** Matches strings, punctuation, other literals and line breaks. */
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{},:]|[^\s[\]{},:"]+|\n/g;

/**
 * The line of each value, by its path as JSON. If the value has a key, that is the key's line. The JSON must be valid.
 */
function linesIn(text: string): ReadonlyMap<string, number> {
  const lines = new Map<string, number>();
  const path: (string | number)[] = [];
  let line = 1;
  let isKey = false;
  for (const [token] of text.matchAll(tokens)) {
    const last = path.at(-1);
    if (token === '\n') line++;
    else if (token === '}' || token === ']') {
      path.pop();
      isKey = false;
    } else if (token === ',') {
      if (typeof last === 'number') path.splice(-1, 1, last + 1);
      else isKey = true;
    } else if (isKey) {
      path.splice(-1, 1, JSON.parse(token));
      lines.set(JSON.stringify(path), line);
      isKey = false;
    } else if (token !== ':') {
      if (!lines.has(JSON.stringify(path))) lines.set(JSON.stringify(path), line);
      if (token === '{') path.push('');
      if (token === '[') path.push(0);
      isKey = token === '{';
    }
  }
  return lines;
}
