/** Request bodies: limited in size, parsed, and limited in depth so that recursive code cannot overflow the stack. */
import { isUtf8 } from 'node:buffer';
import { invalidRequest, parseError, transportRefusal } from '../../dialects/json-rpc.ts';
import { HoldfastError } from '../../model/errors.ts';

/** A request that is refused with an HTTP status. */
export class HttpRefusal extends HoldfastError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The JSON-RPC error code. */
  readonly rpcCode: number;

  constructor(
    status: number,
    message: string,
    headers: Readonly<Record<string, string>> = {},
    code = transportRefusal,
  ) {
    super('HTTP_REFUSED', message);
    this.status = status;
    this.headers = headers;
    this.rpcCode = code;
  }
}

/** The maximum depth of nested objects and arrays in a message. */
export const maxDepth = 128;

export function tooLarge(limit: number): HttpRefusal {
  return new HttpRefusal(
    413,
    `The request body is larger than the ${limit} bytes allowed here (maxBodySize).`,
  );
}

function unreadable(message: string, code = parseError): HttpRefusal {
  return new HttpRefusal(400, message, {}, code);
}

/** Refuses invalid UTF-8, which decoding alone would replace silently. */
export function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw unreadable('Parse error: the request body is not valid UTF-8.');
  return bytes.toString();
}

export function parseBody(text: string): unknown {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw unreadable('Parse error: the request body is not valid JSON.');
  }
  if (countBrackets(text) > maxDepth && isDeeperThan(body, maxDepth))
    throw unreadable(`The request body is nested more than ${maxDepth} levels deep.`, invalidRequest);
  return body;
}

/** Counts opening brackets, which is at least the depth. This quick check saves normal messages the thorough one. */
function countBrackets(text: string): number {
  let count = 0;
  for (const bracket of '{[')
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) count++;
  return count;
}

/** True if a value is nested more than `limit` levels deep. Uses no recursion, which could overflow the stack. */
export function isDeeperThan(value: unknown, limit: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > limit) return true;
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []));
  }
  return false;
}

/** Reads a web body, and stops as soon as it is larger than `limit` bytes. */
export async function readWebBody(body: ReadableStream<Uint8Array> | null, limit: number): Promise<string> {
  if (!body) return '';
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > limit) throw tooLarge(limit);
    chunks.push(chunk);
  }
  return textOf(Buffer.concat(chunks));
}
