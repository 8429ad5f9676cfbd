/**
 * How texts stand in their columns. Everything that a peer or a handler said goes through here, so that it can be
 * written in another manner. What JSON makes of a value has neither a NUL nor half a surrogate pair in it, which
 * Postgres refuses or loses; texts that are compared as they are need care.
 */
import type { IdempotencyScope } from '../../engine/store.ts';

export interface Cells {
  write(text: string, column: string, id: string, version?: number): string;
  read(stored: string, column: string, id: string, version?: number): string;
  writeBytes(bytes: Uint8Array, column: string, id: string): Uint8Array;
  readBytes(stored: Uint8Array, column: string, id: string): Uint8Array;
  /** What stands for an idempotency key in its column. */
  keyOf(scope: IdempotencyScope): string;
}

export const plainCells: Cells = {
  write: (text) => text,
  read: (stored) => stored,
  writeBytes: (bytes) => bytes,
  readBytes: (stored) => stored,
  keyOf: ({ key }) => name(key),
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what Postgres cannot store.
const unstorable = /[\\\u0000]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** A text that is looked for as it is: an id, an owner, a tool. Different ones stay different. */
export function name(text: string): string {
  return text.replace(unstorable, (found) =>
    found === '\\' ? '\\\\' : `\\${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The text that `name` was given. */
export function named(stored: string): string {
  return stored.replace(/\\(\\|[0-9a-f]{4})/g, (_, code: string) =>
    code === '\\' ? '\\' : String.fromCharCode(Number.parseInt(code, 16)),
  );
}
