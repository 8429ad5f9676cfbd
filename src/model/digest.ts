import type { Json } from './json.ts';
import { runtime } from './runtime.ts';

/** A fingerprint of a value that does not depend on the order of its keys. */
export async function digestOf(value: Json): Promise<string> {
  const bytes = new TextEncoder().encode(canonical(value));
  return Buffer.from(await runtime.sha256(bytes)).toString('base64url');
}

/** JSON that does not depend on the order of keys. */
export function canonical(value: Json): string {
  return JSON.stringify(sorted(value));
}

function sorted(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, part]) => [key, sorted(part)]),
  );
}
