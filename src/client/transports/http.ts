/** A transport to a server's URL that minds what the SDK's own leaves out: how large an answer may get, and Retry-After. */
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { ConnectionLost, MalformedAnswer } from '../../remote-tasks/errors.ts';
import { backoffMs } from '../../runtime/backoff.ts';
import { pause, runtime } from '../../runtime/runtime.ts';

export interface HttpOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** In bytes, of one answer that is no stream of events, or of one event. Default 64 MiB. */
  readonly maxResponseSize?: number;
}

const defaultLargest = 64 * 1024 * 1024;
const soonestMs = 250;
const latestMs = 60_000;

/** Between two tries to open the stream that belongs to no request. */
const backoff = { minMs: 1_000, maxMs: 30_000 };

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** A session that was opened earlier, perhaps by another process. */
export interface KnownSession {
  readonly sessionId: string;
  readonly protocolVersion?: string;
}

export function httpTransport(
  url: URL,
  { headers, maxResponseSize = defaultLargest }: HttpOptions = {},
  session?: KnownSession,
  fetchWithin: (largest: number) => Fetch = () => fetch,
) {
  return new StreamableHTTPClientTransport(url, {
    ...session,
    fetch: mindful(fetchWithin(maxResponseSize), maxResponseSize),
    // A server may say when to come back, though neither at once again and again nor never.
    reconnectionScheduler: (reconnect, delay) => {
      const timer = runtime.setTimeout(reconnect, Math.min(Math.max(delay, soonestMs), latestMs));
      return () => runtime.clearTimeout(timer);
    },
    ...(headers && { requestInit: { headers } }),
  });
}

/** A `fetch` for hosts that make their own transports. */
export function boundedFetch(largest = defaultLargest): Fetch {
  return mindful(fetch, largest);
}

function mindful(send: Fetch, largest: number): Fetch {
  return async (url, init) => {
    const response = isStandalone(init) ? await insist(() => send(url, init), init) : await send(url, init);
    const retryAfterMs = retryAfter(response.headers.get('retry-after'));
    if ((response.status === 429 || response.status === 503) && retryAfterMs !== undefined) {
      await response.body?.cancel();
      throw new ConnectionLost(`it is busy (HTTP ${response.status}).`, { retryAfterMs, isUnsent: true });
    }
    if (!response.body) return response;
    const isStream = response.headers.get('content-type')?.includes('text/event-stream') ?? false;
    const { status, statusText, headers } = response;
    // What says how long it is cannot be longer, unless it was packed.
    const length = headers.has('content-encoding') ? null : headers.get('content-length');
    if (!isStream && length !== null && Number(length) <= largest) return response;
    return new Response(response.body.pipeThrough(bounded(largest, isStream)), {
      status,
      statusText,
      headers,
    });
  };
}

/** The stream that belongs to no request. */
function isStandalone({ method, headers }: RequestInit = {}): boolean {
  return method === 'GET' && (new Headers(headers).get('accept')?.includes('text/event-stream') ?? false);
}

/**
 * Where this stream is the only way for questions, a task whose server was away would never be answered. The SDK opens
 * it once, and again only after it was open.
 */
async function insist(open: () => Promise<Response>, { signal }: RequestInit = {}): Promise<Response> {
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

/** Counts bytes; in a stream of events each event by itself, which ends with a blank line. */
function bounded(largest: number, isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
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
      if (size > largest) controller.error(new MalformedAnswer(`an answer is larger than ${largest} bytes`));
      else controller.enqueue(chunk);
    },
  });
}

const lineFeed = 10;
const carriageReturn = 13;

function isLineEnd(byte: number): boolean {
  return byte === lineFeed || byte === carriageReturn;
}

function retryAfter(header: string | null): number | undefined {
  if (header === null) return undefined;
  const seconds = Number(header);
  const ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(header) - runtime.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}
