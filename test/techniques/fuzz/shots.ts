/** Sends bad messages over HTTP, and brings back whatever comes: an answer, the first event of a stream, or nothing. */
import { Agent, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { bodyOf, type Draft, draftOf, type Raw } from './draft.ts';
import { type Answer, read } from './oracle.ts';
import type { Header, Loose } from './requests.ts';

/** No answer takes longer, unless there is none. */
const patienceMs = 30_000;

export class Shooter {
  readonly #port: number;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 16 });

  /** Headers that every request has, unless it has others of that name. */
  readonly #always: readonly Header[];

  constructor(port: number, always: readonly Header[] = []) {
    this.#port = port;
    this.#always = always;
  }

  /** As it should be sent. */
  post(message: Loose): Promise<Answer> {
    return this.send(draftOf(message));
  }

  /** Through an HTTP client that lets every header pass. */
  send(draft: Draft): Promise<Answer> {
    const body = bodyOf(draft);
    const more = this.#always.filter(([name]) => !draft.headers.some(([one]) => one === name));
    const headers = [...draft.headers, ...more, ['Content-Length', String(body.length)]].flat();
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const { httpMethod: method, path } = draft;
    const req = request(
      { host: '127.0.0.1', port: this.#port, agent: this.#agent, method, path, headers, timeout: patienceMs },
      (res) => {
        res.on('error', () => resolve({ kind: 'closed' }));
        received(res).then((answer) => {
          if (!res.complete) req.destroy();
          resolve(answer);
        }, reject);
      },
    );
    req.on('timeout', () => req.destroy(new Error('no answer')));
    req.on('error', (error: NodeJS.ErrnoException) =>
      error.code === undefined ? reject(error) : resolve({ kind: 'closed' }),
    );
    req.end(body);
    return promise;
  }

  /** On a socket of its own. */
  async sendRaw({ bytes, hangsUp }: Raw): Promise<Answer> {
    const socket = connect(this.#port, '127.0.0.1');
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const chunks: Buffer[] = [];
    socket.setTimeout(patienceMs, () => socket.destroy(new Error('no answer')));
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === undefined) reject(error);
    });
    socket.on('close', () => resolve(parsed(Buffer.concat(chunks).toString())));
    // Half closed, the server learns that there will be no more, and may still answer.
    socket.end(bytes, () => {
      if (hangsUp) socket.destroy();
    });
    return promise;
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** A stream is read up to its answer, everything else to its end. */
async function received(res: IncomingMessage): Promise<Answer> {
  const type = res.headers['content-type'] ?? '';
  const isStream = type.startsWith('text/event-stream');
  const { promise, resolve } = Promise.withResolvers<void>();
  let text = '';
  res.setEncoding('utf8');
  res.on('data', (more: string) => {
    text += more;
    if (isStream && read({ type, text })) resolve();
  });
  res.on('end', resolve);
  await promise;
  const session = res.headers['mcp-session-id'] as string | undefined;
  return { kind: 'answered', status: res.statusCode ?? 0, type, text, ...(session && { session }) };
}

function parsed(text: string): Answer {
  const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1];
  if (status === undefined) return { kind: 'closed' };
  const [head = '', ...rest] = text.split('\r\n\r\n');
  const type = /^content-type: *(.*)$/im.exec(head)?.[1] ?? '';
  const body = rest.join('\r\n\r\n');
  const isChunked = /^transfer-encoding: *chunked$/im.test(head);
  return { kind: 'answered', status: Number(status), type, text: isChunked ? dechunked(body) : body };
}

function dechunked(text: string): string {
  return text.replace(/(?:^|\r\n)[0-9a-f]+\r\n/gi, '').replace(/\r\n$/, '');
}
