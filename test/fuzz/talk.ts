/** A session of 2025-11-25 in which right requests are made and bad ones sent, over HTTP or over a pipe. */

import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { flagging, opened } from '../drafts/peer.ts';
import { frames, type Peer } from '../revision-2025-11-25/peer.ts';
import { type BadMessage, bodyOf, type Draft } from './draft.ts';
import { type Answer, idOf, invalidRequest, parseError } from './oracle.ts';
import type { Header, Loose } from './requests.ts';
import type { Shooter } from './shots.ts';

export interface Talk {
  /** What every request of it carries, over HTTP. */
  readonly headers: readonly Header[];
  /** Who is told of everything that comes, on whichever stream. */
  readonly hearers: Set<(message: Loose) => void>;
  /** All that comes on the stream of a right request, its answer last. */
  exchange(method: string, params: Loose): AsyncGenerator<Loose>;
  /** What has no answer. */
  tell(message: Loose): Promise<unknown>;
  /** Sends a bad message. */
  send(bad: BadMessage): Promise<Answer>;
}

/** A right request; what comes back is its answer. */
export async function asked(talk: Talk, method: string, params: Loose = {}): Promise<Loose> {
  let last: Loose;
  for await (const message of talk.exchange(method, params)) last = message;
  if (last?.error) throw new Error(`${method} was refused: ${last.error.message}`);
  return last.result;
}

/** Reads what comes, which nobody wants to know any more. */
export async function toItsEnd(messages: AsyncGenerator<Loose>): Promise<void> {
  try {
    while (!(await messages.next()).done);
  } catch {
    // The server was stopped.
  }
}

let lastId = 0;

export class HttpTalk implements Talk {
  readonly headers: readonly Header[];
  readonly hearers = new Set<(message: Loose) => void>();
  readonly #peer: Peer;
  readonly #shooter: Shooter;

  private constructor(peer: Peer, shooter: Shooter) {
    this.#peer = peer;
    this.#shooter = shooter;
    this.headers = [
      ['Host', '127.0.0.1'],
      ['Content-Type', 'application/json'],
      ['Accept', 'application/json, text/event-stream'],
      ['MCP-Protocol-Version', '2025-11-25'],
      ['Mcp-Session-Id', peer.sessionId!],
    ];
  }

  static async open(url: string, drafts: readonly string[], token: string, shooter: Shooter): Promise<Talk> {
    const peer = await opened(url, drafts, token);
    // Somebody has to read it, or it would be closed when it is collected.
    const talk = new HttpTalk(peer, shooter);
    void toItsEnd(talk.#heard(frames(await peer.listen())));
    return talk;
  }

  async *exchange(method: string, params: Loose): AsyncGenerator<Loose> {
    const response = await this.#peer.post({ id: `right ${++lastId}`, method, params });
    if (response.headers.get('content-type')?.includes('event-stream')) yield* this.#heard(frames(response));
    else yield response.json();
  }

  async *#heard(messages: AsyncGenerator<Loose>): AsyncGenerator<Loose> {
    for await (const message of messages) {
      for (const hear of [...this.hearers]) hear(message);
      yield message;
    }
  }

  tell(message: Loose): Promise<unknown> {
    return this.#peer.post(message);
  }

  async send({ draft }: BadMessage): Promise<Answer> {
    const answer = await this.#shooter.send(draft);
    const { session } = answer.kind === 'answered' ? answer : {};
    if (session !== undefined && session !== this.#peer.sessionId) await this.#end(session);
    return answer;
  }

  /** A bad message has opened a session, which nobody needs. */
  async #end(session: string): Promise<void> {
    const headers: Header[] = this.headers.filter(([name]) => name !== 'Mcp-Session-Id');
    const draft: Draft = {
      message: undefined,
      httpMethod: 'DELETE',
      path: '/mcp',
      headers: [...headers, ['Mcp-Session-Id', session]],
      body: Buffer.alloc(0),
    };
    const ended = await this.#shooter.send(draft);
    if (ended.kind !== 'answered' || ended.status !== 200)
      throw new Error(`a session that was opened could not be ended: ${JSON.stringify(ended)}`);
  }
}

/** What is no request of JSON-RPC may be passed over on a pipe. */
export function onAPipe(bad: BadMessage): BadMessage {
  const { expected } = bad;
  const isUnanswerable = [parseError, invalidRequest].some((code) => expected.codes.has(code));
  return { ...bad, expected: { ...expected, isNotice: expected.isNotice || isUnanswerable } };
}

export class PipeTalk implements Talk {
  readonly headers = [];
  /** Lines that are not JSON-RPC, and answers to nothing. */
  readonly strays: string[] = [];
  readonly #child: ChildProcess;
  readonly #gone: Promise<never>;
  readonly hearers = new Set<(message: Loose) => void>();

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#gone = new Promise((_, reject) =>
      child.once('exit', (code) => reject(new Error(`the server ended: ${code}`))),
    );
    this.#gone.catch(() => {});
    child.stdin!.on('error', () => {}); // It may have ended already.
    createInterface({ input: child.stdout! }).on('line', (line) => {
      try {
        const message = JSON.parse(line);
        for (const hear of [...this.hearers]) hear(message);
      } catch {
        this.strays.push(line);
      }
    });
  }

  static async open(child: ChildProcess, drafts: readonly string[]): Promise<PipeTalk> {
    const talk = new PipeTalk(child);
    const params = {
      protocolVersion: '2025-11-25',
      clientInfo: { name: 'fuzz', version: '1' },
      capabilities: flagging(...drafts),
    };
    await asked(talk, 'initialize', params);
    await talk.tell({ method: 'notifications/initialized' });
    return talk;
  }

  async *exchange(method: string, params: Loose): AsyncGenerator<Loose> {
    const id = `right ${++lastId}`;
    const heard: Loose[] = [];
    let next = Promise.withResolvers<void>();
    const hear = (message: Loose) => {
      heard.push(message);
      next.resolve();
    };
    this.hearers.add(hear);
    try {
      await this.tell({ id, method, params });
      for (;;) {
        if (heard.length === 0) await Promise.race([next.promise, this.#gone]);
        next = Promise.withResolvers();
        for (const message of heard.splice(0)) {
          if (message.method !== undefined) yield message;
          else if (message.id === id) return yield message;
        }
      }
    } finally {
      this.hearers.delete(hear);
    }
  }

  async tell(message: Loose): Promise<void> {
    this.#write(Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message })));
  }

  /** Where silence is an answer, nothing counts as said once a later request has been answered. */
  async send({ draft, expected }: BadMessage): Promise<Answer> {
    const id = idOf(draft.message);
    const { promise, resolve } = Promise.withResolvers<Loose>();
    const hear = (message: Loose) => {
      if (message.method === undefined && (message.id === id || message.id === null)) resolve(message);
    };
    this.hearers.add(hear);
    this.#write(Buffer.from(bodyOf(draft).filter((byte) => byte !== 0x0a)));
    const silence = expected.isNotice ? asked(this, 'ping').then(() => undefined) : this.#gone;
    try {
      const said = await Promise.race([promise, silence, this.#gone]);
      return said === undefined ? { kind: 'nothing' } : { kind: 'answered', text: JSON.stringify(said) };
    } finally {
      this.hearers.delete(hear);
    }
  }

  #write(line: Buffer): void {
    this.#child.stdin!.write(Buffer.concat([line, Buffer.from('\n')]));
  }
}
