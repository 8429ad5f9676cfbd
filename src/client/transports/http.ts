/** An HTTP transport that adds to the SDK's a size limit for answers, and support for Retry-After. */
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { ConnectionLost, MalformedAnswer } from '../../remote-tasks/errors.ts';
import { backoffMs } from '../../runtime/backoff.ts';
import { pause, runtime } from '../../runtime/runtime.ts';

export interface HttpOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Limit for one answer, or for one event of an event stream, in bytes. Default 64 MiB. */
  readonly maxResponseSize?: number;
}

/** In bytes. */
const defaultMaxSize = 64 * 1024 * 1024;
const minReconnectMs = 250;
const maxReconnectMs = 60_000;

/** The delay between two attempts to open the standalone stream. */
const backoff = { minMs: 1_000, maxMs: 30_000 };

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** A session that was opened before, perhaps by another process. */
export interface KnownSession {
  readonly sessionId: string;
  readonly protocolVersion?: string;
}

export function httpTransport(
  url: URL,
  { headers, maxResponseSize = defaultMaxSize }: HttpOptions = {},
  session?: KnownSession,
  fetchFor: (maxSize: number) => Fetch = () => fetch,
) {
  return new StreamableHTTPClientTransport(url, {
    ...session,
    fetch: withLimits(fetchFor(maxResponseSize), maxResponseSize),
    // The server may choose the delay, within limits.
    reconnectionScheduler: (reconnect, delay) => {
      const timer = runtime.setTimeout(reconnect, Math.min(Math.max(delay, minReconnectMs), maxReconnectMs));
      return () => runtime.clearTimeout(timer);
    },
    ...(headers && { requestInit: { headers } }),
  });
}

/** A `fetch` with the size limit (in bytes) and Retry-After, for hosts that create their own transports. */
export function boundedFetch(maxSize = defaultMaxSize): Fetch {
  return withLimits(fetch, maxSize);
}

function withLimits(send: Fetch, maxSize: number): Fetch {
  return async (url, init) => {
    const response = isStandalone(init)
      ? await openWithRetries(() => send(url, init), init)
      : await send(url, init);
    const retryAfterMs = retryAfter(response.headers.get('retry-after'));
    if ((response.status === 429 || response.status === 503) && retryAfterMs !== undefined) {
      await response.body?.cancel();
      throw new ConnectionLost(`it is busy (HTTP ${response.status}).`, { retryAfterMs, isUnsent: true });
    }
    if (!response.body) return response;
    const isStream = response.headers.get('content-type')?.includes('text/event-stream') ?? false;
    const { status, statusText, headers } = response;
    // A body cannot be longer than its content-length, unless it is compressed.
    const length = headers.has('content-encoding') ? null : headers.get('content-length');
    if (!isStream && length !== null && Number(length) <= maxSize) return response;
    return new Response(response.body.pipeThrough(limitSize(maxSize, isStream)), {
      status,
      statusText,
      headers,
    });
  };
}

/** True for the GET request that opens the standalone stream, which belongs to no request. */
function isStandalone({ method, headers }: RequestInit = {}): boolean {
  return method === 'GET' && (new Headers(headers).get('accept')?.includes('text/event-stream') ?? false);
}

/**
 * Retries until the stream opens. The SDK tries only once, unless the stream was open before. But questions may arrive
 * only on this stream, so without it a task could wait forever.
 */
async function openWithRetries(
  open: () => Promise<Response>,
  { signal }: RequestInit = {},
): Promise<Response> {
  for (let retries = 0; ; retries++) {
    try {
      const response = await open();
      if (response.status < 500) return response;
      await response.body?.cancel();
    } catch (error) {
      if (signal?.aborted) throw error;
    }
    await pause(backoffMs(backoff, retries), signal ?? undefined);
  }
}

/** Counts bytes. In an event stream it counts each event separately; a blank line ends an event. */
function limitSize(maxSize: number, isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  let size = 0;
  let last = 0;
  return new TransformStream({
    transform(chunk, controller) {
      if (!isStream) size += chunk.length;
      else
        for (const byte of chunk) {
          const isOneLineEnd = last === carriageReturn && byte === lineFeed;
          const isBlankLine = isLineEnd(last) && isLineEnd(byte) && !isOneLineEnd;
          size = isBlankLine ? 0 : size + 1;
          last = byte;
        }
      if (size > maxSize) controller.error(new MalformedAnswer(`an answer is larger than ${maxSize} bytes`));
      else controller.enqueue(chunk);
    },
  });
}

const lineFeed = 10;
const carriageReturn = 13;

function isLineEnd(byte: number): boolean {
  return byte === lineFeed || byte === carriageReturn;
}

/** The value of Retry-After, in seconds or as a date, converted to milliseconds from now. */
function retryAfter(header: string | null): number | undefined {
  if (header === null) return undefined;
  const seconds = Number(header);
  const ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(header) - runtime.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}
