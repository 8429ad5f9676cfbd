/** Sends bad messages over HTTP, and brings back whatever comes: an answer, the first event of a stream, or nothing. */
import { Agent, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { bodyOf, type Draft, draftOf, type Raw } from './draft.ts';
import { type Answer, read } from './oracle.ts';
import type { Header, Loose } from './requests.ts';

/** No answer takes longer, unless there is none. */
const patienceMs = 30_000;

export type Shooter = ReturnType<typeof shooterAt>;

/** `always` are headers that every request has, unless it has others of that name. */
export function shooterAt(port: number, always: readonly Header[] = []) {
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });

  /** Through an HTTP client that lets every header pass. */
  function send(draft: Draft): Promise<Answer> {
    const body = bodyOf(draft);
    const more = always.filter(([name]) => !draft.headers.some(([one]) => one === name));
    const headers = [...draft.headers, ...more, ['Content-Length', String(body.length)]].flat();
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const { httpMethod: method, path } = draft;
    const options = { host: '127.0.0.1', port, agent, method, path, headers, timeout: patienceMs };
    const req = request(options, (res) => received(res).then(resolve, () => resolve({ kind: 'closed' })));
    req.on('timeout', () => req.destroy(new Error('no answer')));
    req.on('error', (error: NodeJS.ErrnoException) => {
      // The server closed an idle connection at the very moment when it was used again.
      if (req.reusedSocket && error.code === 'ECONNRESET') resolve(send(draft));
      else if (error.code === undefined) reject(error);
      else resolve({ kind: 'closed' });
    });
    req.end(body);
    return promise;
  }

  /** On a socket of its own. */
  async function sendRaw({ bytes, hangsUp }: Raw): Promise<Answer> {
    const socket = connect(port, '127.0.0.1');
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

  const post = (message: Loose) => send(draftOf(message));
  return { post, send, sendRaw, close: () => agent.destroy() };
}

/** A stream is read up to its answer and then cut, everything else to its end. */
async function received(res: IncomingMessage): Promise<Answer> {
  const type = res.headers['content-type'] ?? '';
  const isStream = type.startsWith('text/event-stream');
  let text = '';
  for await (const more of res.setEncoding('utf8')) {
    text += more;
    if (isStream && read({ type, text })) break;
  }
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
