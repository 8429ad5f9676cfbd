/**
 * `fetch` for calls to upstreams. Most answers are small, and Node's `http` client reads them at a fraction of the cost
 * of web streams. The global `fetch` also fails if an answer is silent for 300 s, and a tool may take longer. This one
 * does not request compression or follow redirects; the transport needs neither.
 */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { Readable } from 'node:stream';
import { MalformedAnswer } from '../../remote-tasks/errors.ts';

/**
 * Sends POST requests with a text; others use the global `fetch`. `maxSize` is in bytes; event streams have no limit.
 */
export function upstreamFetch(maxSize: number): typeof fetch {
  return (input, init) => {
    const isPost = init?.method === 'POST' && init.redirect === 'manual' && typeof init.body === 'string';
    if (!isPost || input instanceof Request) return fetch(input, init);
    const url = new URL(input);
    return url.username || url.password ? fetch(url, init) : post(url, init, maxSize);
  };
}

async function post(url: URL, { headers, body, signal }: RequestInit, maxSize: number): Promise<Response> {
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
  // A later abort must not close a connection that is kept alive for the next request.
  const release = () => signal?.removeEventListener('abort', onAbort);
  signal?.addEventListener('abort', onAbort, { once: true });
  request.on('close', release);
  // The same error as that of `fetch`.
  request.on('error', (cause) => reject(new TypeError('fetch failed', { cause })));
  request.on('response', (response) => {
    const init = initOf(response);
    if (response.headers['content-type']?.startsWith('text/event-stream'))
      return resolve(new Response(Readable.toWeb(response) as ReadableStream<Uint8Array>, init));
    const chunks: Buffer[] = [];
    let size = 0;
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size <= maxSize) return;
      reject(new MalformedAnswer(`an answer is larger than ${maxSize} bytes`));
      request.destroy();
    });
    response.on('error', (cause) => reject(new TypeError('terminated', { cause })));
    response.on('end', () => {
      release();
      resolve(bufferedResponse(init, Buffer.concat(chunks).toString()));
    });
  });
  request.end(text);
  return promise;
}

function initOf({ statusCode = 500, statusMessage = '', headers }: IncomingMessage) {
  const all = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, one]),
  );
  return { status: statusCode, statusText: statusMessage, headers: new Headers(all) };
}

/** The part of a `Response` that callers use, for a body that has been read completely. */
function bufferedResponse(init: ReturnType<typeof initOf>, text: string): Response {
  const answer = {
    ...init,
    ok: init.status >= 200 && init.status < 300,
    body: null,
    text: async () => text,
    json: async () => JSON.parse(text),
  } satisfies Partial<Response>;
  return answer as unknown as Response;
}
