/**
 * Encodes texts for Postgres columns. All data of peers and handlers goes through here. Postgres cannot store NUL or
 * lone surrogates. Our JSON escapes both; names, which SQL compares as they are, must be escaped. Encrypted values are
 * texts with a prefix that neither JSON nor an escaped name can have.
 */
import type { Encoding, Cells as Of } from '../../shared/encryption/cells.ts';

export type Cells = Of<string>;

/** The prefix of an encrypted value. Also used by the audit trigger. */
export const sealedMark = '\\~';

/** The encoding of plain and encrypted values as texts. */
export const marked: Encoding<string> = {
  plain: name,
  sealed: (bytes) => `${sealedMark}${Buffer.from(bytes).toString('base64')}`,
  bytesOf: (stored) =>
    stored.startsWith(sealedMark) ? Buffer.from(stored.slice(sealedMark.length), 'base64') : undefined,
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what Postgres cannot store.
const unstorable = /[\\\u0000]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** Texts that certainly need no escaping: a quick check. */
const unsuspicious = /^[\w\-.:@/ ]*$/;

/** Escapes a text that SQL compares as it is: an id, an owner, a tool. The encoding is unique. */
export function name(text: string): string {
  if (unsuspicious.test(text)) return text;
  return text.replace(unstorable, (found) =>
    found === '\\' ? '\\\\' : `\\${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Restores the text that `name` escaped. */
export function named(stored: string): string {
  if (!stored.includes('\\')) return stored;
  return stored.replace(/\\(\\|[0-9a-f]{4})/g, (_, code: string) =>
    code === '\\' ? '\\' : String.fromCharCode(Number.parseInt(code, 16)),
  );
}
