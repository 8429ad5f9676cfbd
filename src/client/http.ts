/** A transport to a server's URL that minds what the SDK's own leaves out: how large an answer may get, and Retry-After. */
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { ConnectionLost, MalformedAnswer } from '../requestor/errors.ts';

export interface HttpOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** In bytes, of one answer that is no stream of events, or of one event. Default 64 MiB. */
  readonly largestAnswer?: number;
}

const defaultLargest = 64 * 1024 * 1024;

export function httpTransport(url: URL, { headers, largestAnswer }: HttpOptions = {}) {
  return new StreamableHTTPClientTransport(url, {
    fetch: mindfulFetch(largestAnswer ?? defaultLargest),
    ...(headers && { requestInit: { headers } }),
  });
}

/** A `fetch` for hosts that make their own transports. */
export function mindfulFetch(
  largest = defaultLargest,
): (url: string | URL, init?: RequestInit) => Promise<Response> {
  return async (url, init) => {
    const response = await fetch(url, init);
    const retryAfterMs = retryAfter(response.headers.get('retry-after'));
    if ((response.status === 429 || response.status === 503) && retryAfterMs !== undefined) {
      await response.body?.cancel();
      throw new ConnectionLost(`it is busy (HTTP ${response.status}).`, { retryAfterMs });
    }
    if (!response.body) return response;
    const isStream = response.headers.get('content-type')?.includes('text/event-stream') ?? false;
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(bounded(largest, isStream)), {
      status,
      statusText,
      headers,
    });
  };
}

/** Counts bytes; in a stream of events each event by itself. */
function bounded(largest: number, isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  let size = 0;
  return new TransformStream({
    transform(chunk, controller) {
      const end = isStream ? chunk.lastIndexOf(10) : -1;
      size = end < 0 ? size + chunk.length : chunk.length - end;
      if (size > largest) controller.error(new MalformedAnswer(`an answer is larger than ${largest} bytes`));
      else controller.enqueue(chunk);
    },
  });
}

function retryAfter(header: string | null): number | undefined {
  if (header === null) return undefined;
  const seconds = Number(header);
  const ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}
