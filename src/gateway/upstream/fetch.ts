/**
 * `fetch` for calls of upstreams: most of them are answered in a few bytes, which Node's own client brings for a
 * fraction of what the streams of the web cost. The global `fetch` also gives up an answer that is silent for 300 s,
 * and a tool may take longer. It asks for no compression and follows no redirect, which is what the transport wants.
 */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { Readable } from 'node:stream';
import { MalformedAnswer } from '../../remote-tasks/errors.ts';

/** What is posted goes this way; a `largest` answer, in bytes, is one that is no stream of events. */
export function upstreamFetch(largest: number): typeof fetch {
  return (input, init) => {
    const isPost = init?.method === 'POST' && init.redirect === 'manual' && typeof init.body === 'string';
    if (!isPost || input instanceof Request) return fetch(input, init);
    const url = new URL(input);
    return url.username || url.password ? fetch(url, init) : posted(url, init, largest);
  };
}

async function posted(url: URL, { headers, body, signal }: RequestInit, largest: number): Promise<Response> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const text = body as string;
  const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, {
    method: 'POST',
    headers: {
      'user-agent': 'node',
      'accept-encoding': 'identity',
      ...Object.fromEntries(new Headers(headers)),
      'content-length': Buffer.byteLength(text),
    },
  });
  const onAbort = () => {
    reject(signal!.reason);
    request.destroy();
  };
  // A connection that is kept for the next request must not end with this one.
  const release = () => signal?.removeEventListener('abort', onAbort);
  signal?.addEventListener('abort', onAbort, { once: true });
  request.on('close', release);
  // As `fetch` says it.
  request.on('error', (cause) => reject(new TypeError('fetch failed', { cause })));
  request.on('response', (response) => {
    const head = headOf(response);
    if (response.headers['content-type']?.startsWith('text/event-stream'))
      return resolve(new Response(Readable.toWeb(response) as ReadableStream<Uint8Array>, head));
    const chunks: Buffer[] = [];
    let size = 0;
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size <= largest) return;
      reject(new MalformedAnswer(`an answer is larger than ${largest} bytes`));
      request.destroy();
    });
    response.on('error', (cause) => reject(new TypeError('terminated', { cause })));
    response.on('end', () => {
      release();
      resolve(whole(head, Buffer.concat(chunks).toString()));
    });
  });
  request.end(text);
  return promise;
}

function headOf({ statusCode = 500, statusMessage = '', headers }: IncomingMessage) {
  const all = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, one]),
  );
  return { status: statusCode, statusText: statusMessage, headers: new Headers(all) };
}

/** As much of a `Response` as there is to an answer that has been read. */
function whole(head: ReturnType<typeof headOf>, text: string): Response {
  const answer = {
    ...head,
    ok: head.status >= 200 && head.status < 300,
    body: null,
    text: async () => text,
    json: async () => JSON.parse(text),
  } satisfies Partial<Response>;
  return answer as unknown as Response;
}
