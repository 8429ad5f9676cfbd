/** A receiver of OTLP over HTTP, as JSON: what it was sent is there to be looked at. */
import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { originOf } from '../kit/serve.ts';

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly name: string;
  readonly attributes: readonly { readonly key: string; readonly value: object }[];
  readonly status: { readonly code?: number };
}

/** Until the end of the test. */
export class Receiver {
  url = '';
  readonly spans: ReceivedSpan[] = [];
  readonly texts: string[] = [];
  readonly #server = createServer((req, res) => {
    void this.#take(req).then(() => res.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
  });

  static async start(): Promise<Receiver> {
    const receiver = new Receiver();
    receiver.url = `${await originOf(receiver.#server)}/v1/traces`;
    return receiver;
  }

  named(name: string): ReceivedSpan[] {
    return this.spans.filter((span) => span.name === name);
  }

  async #take(req: IncomingMessage): Promise<void> {
    const message = await text(req);
    this.texts.push(message);
    for (const { scopeSpans } of JSON.parse(message).resourceSpans)
      for (const { spans } of scopeSpans) this.spans.push(...spans);
  }
}

export function attributesOf({ attributes }: ReceivedSpan): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}

/** Each span with the name of the one above it, in no order; those without one that was received say so. */
export function edges(spans: readonly ReceivedSpan[], caller?: string): string[] {
  const names = new Map(spans.map(({ spanId, name }) => [spanId, name]));
  if (caller !== undefined) names.set(caller, 'the caller');
  return spans
    .map(({ name, parentSpanId }) => {
      const above = parentSpanId ? (names.get(parentSpanId) ?? 'nothing that came') : 'no span';
      return `${name} below ${above}`;
    })
    .sort();
}
