/**
 * How texts stand in their columns. Everything that a peer or a handler said goes through here. What JSON makes of a
 * value has neither a NUL nor half a surrogate pair in it, which Postgres refuses or loses; texts that are compared as
 * they are need care. Encrypted values are texts too, and begin as neither JSON nor a name ever does.
 */
import type { Encoding, Cells as Of } from '../../shared/encryption/cells.ts';

export type Cells = Of<string>;

/** Triggers know it too. */
export const sealedMark = '\\~';

export const marked: Encoding<string> = {
  plain: name,
  sealed: (bytes) => `${sealedMark}${Buffer.from(bytes).toString('base64')}`,
  bytesOf: (stored) =>
    stored.startsWith(sealedMark) ? Buffer.from(stored.slice(sealedMark.length), 'base64') : undefined,
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what Postgres cannot store.
const unstorable = /[\\\u0000]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

const unsuspicious = /^[\w\-.:@/ ]*$/;

/** A text that is looked for as it is: an id, an owner, a tool. Different ones stay different. */
export function name(text: string): string {
  if (unsuspicious.test(text)) return text;
  return text.replace(unstorable, (found) =>
    found === '\\' ? '\\\\' : `\\${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The text that `name` was given. */
export function named(stored: string): string {
  if (!stored.includes('\\')) return stored;
  return stored.replace(/\\(\\|[0-9a-f]{4})/g, (_, code: string) =>
    code === '\\' ? '\\' : String.fromCharCode(Number.parseInt(code, 16)),
  );
}
