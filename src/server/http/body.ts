/** Bodies: read up to a limit, parsed, and not nested so deeply that whoever walks through them runs out of stack. */
import { isUtf8 } from 'node:buffer';
import { invalidRequest, parseError, transportRefusal } from '../../dialects/json-rpc.ts';
import { HoldfastError } from '../../model/errors.ts';

/** A refusal of the HTTP face itself. */
export class HttpRefusal extends HoldfastError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The code of JSON-RPC. */
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

export const deepest = 128;

export function tooLarge(limit: number): HttpRefusal {
  return new HttpRefusal(
    413,
    `The request body is larger than the ${limit} bytes allowed here (largestBody).`,
  );
}

function unreadable(message: string, code = parseError): HttpRefusal {
  return new HttpRefusal(400, message, {}, code);
}

/** Decoding alone would put question marks in the place of what cannot be read. */
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
  if (opens(text) > deepest && isDeeperThan(body, deepest))
    throw unreadable(`The request body is nested more than ${deepest} levels deep.`, invalidRequest);
  return body;
}

/** How often something is opened in a text; a quick look that spares honest messages the thorough one. */
function opens(text: string): number {
  let count = 0;
  for (const bracket of '{[')
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) count++;
  return count;
}

/** Without recursion: the very thing that this protects from. */
export function isDeeperThan(value: unknown, limit: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > limit) return true;
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []));
  }
  return false;
}

/** Reads a web body; a stream is given up as soon as it is too long. */
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
