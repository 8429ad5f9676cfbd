/** Converts between Node's `http` and web requests and responses. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import type { ReadableStream as WebStream } from 'node:stream/web';
import { runtime } from '../../runtime/runtime.ts';
import type { Fate } from '../calls/deliveries.ts';
import { textOf, tooLarge } from './body.ts';

/** Reads a body of at most `limit` bytes. The rest of a larger body is not read. */
export function readNodeBody(req: IncomingMessage, limit: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    req.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > limit) {
        req.pause();
        reject(tooLarge(limit));
      } else chunks.push(chunk);
    });
    req.on('end', () => {
      try {
        resolve(textOf(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
      } catch (error) {
        reject(error);
      }
    });
    req.on('error', reject);
    req.on('close', () => {
      if (!req.complete) reject(new Error('The connection was closed before the request was complete.'));
    });
  });
}

/** A web request without a body: the body has been read. */
export function toWebRequest(req: IncomingMessage, signal: AbortSignal): Request {
  const headers = new Headers();
  for (let i = 0; i < req.rawHeaders.length; i += 2) {
    const name = req.rawHeaders[i]!;
    // Pseudo-headers of HTTP/2 are not valid names of web headers.
    if (!name.startsWith(':')) headers.append(name, req.rawHeaders[i + 1]!);
  }
  const url = new URL(req.url ?? '/', `http://${req.headers.host ?? 'localhost'}`);
  return new Request(url, { method: req.method ?? 'GET', headers, signal });
}

/** A shared reason for all aborts: without one, each abort creates an exception, which is slow. */
const closed = new Error('The connection is done with the request.');

/** Returns a signal that fires when the response is finished or its connection is closed. Created on demand. */
export function whenClosed(res: ServerResponse): () => AbortSignal {
  let abort: AbortController | undefined;
  return () => {
    if (!abort) {
      const controller = new AbortController();
      abort = controller;
      if (res.closed) controller.abort(closed);
      else res.once('close', () => controller.abort(closed));
    }
    return abort.signal;
  };
}

/** `'delivered'` if the whole response was written to the connection, `'lost'` if the connection was closed before. */
export function whenFinished(res: ServerResponse): Promise<Fate> {
  return finished(res).then(
    () => 'delivered',
    () => 'lost',
  );
}

/** Writes a response: a stream with backpressure, anything else in one piece. */
export async function writeResponse(res: ServerResponse, response: Response): Promise<void> {
  if (res.destroyed) {
    await response.body?.cancel().catch(() => {});
    return;
  }
  res.writeHead(response.status, Object.fromEntries(response.headers));
  if (!response.body) {
    res.end();
    return;
  }
  if (!response.headers.get('content-type')?.startsWith('text/event-stream'))
    return writeWhole(res, response);
  res.flushHeaders();
  // If the body breaks off, destroy the connection: the response must not look complete, nor wait for a slow reader.
  const body = Readable.fromWeb(response.body as WebStream, { highWaterMark: 1 });
  await pipeline(body, res).catch(() => res.destroy());
}

/** Writes the body in one piece: each write wakes the reader, which costs more than most answers. */
async function writeWhole(res: ServerResponse, response: Response): Promise<void> {
  try {
    res.end(Buffer.from(await response.arrayBuffer()));
  } catch {
    // A body that breaks off must not look complete.
    res.destroy();
  }
}

/** Resolves when the connection has sent everything that was written to it, or is closed. */
export async function drained(res: ServerResponse): Promise<void> {
  // After this turn `writeResponse` has written the present content of the body.
  await new Promise((resolve) => runtime.setImmediate(resolve));
  if (!res.writableNeedDrain || res.closed) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      res.off('drain', done).off('close', done);
      resolve();
    };
    res.on('drain', done).on('close', done);
  });
}
