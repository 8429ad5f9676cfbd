/** Right requests and bad messages to a server, and whatever comes back, over a pipe or in a session over HTTP. */
import { flagging, opened } from '../../dialects/drafts/peer.ts';
import { frames, type Peer } from '../../dialects/revision-2025-11-25/peer.ts';
import type { Program } from '../../kit/process.ts';
import { type BadMessage, bodyOf, draftOf } from './draft.ts';
import { type Answer, answeredId, idOf, invalidRequest, parseError, read } from './oracle.ts';
import type { Header, Loose } from './requests.ts';
import type { Shooter } from './shots.ts';

let names = 0;

/** No name is given twice, to a message or to anything else. */
export function freshName(what: string): string {
  return `${what} ${++names}`;
}

/** Where several messages are under way at once, each has an id of its own. */
export function withOwnId(bad: BadMessage): BadMessage {
  const { draft } = bad;
  if (draft.message.id !== 'id') return bad;
  draft.message.id = freshName('id');
  const text = draft.body?.toString('latin1').replaceAll('"id":"id"', `"id":"${draft.message.id}"`);
  draft.body = text === undefined ? undefined : Buffer.from(text, 'latin1');
  return bad;
}

export abstract class Talk {
  readonly headers: readonly Header[] = [];
  /** They are called with everything that comes, on whichever stream, and return true for what they waited for. */
  readonly hearers = new Set<(message: Loose) => unknown>();

  /** Sends a right message; settles when nothing can come back for it any more. */
  abstract tell(message: Loose): Promise<unknown>;

  abstract send(bad: BadMessage): Promise<Answer>;

  /** Returns whether anybody waited for the message. */
  protected hear(message: Loose): boolean {
    return [...this.hearers].map((hear) => hear(message)).includes(true);
  }

  /** The next message of this kind, or what comes of `over` if that is first. */
  async heard(isIt: (message: Loose) => boolean, over: Promise<unknown>): Promise<Loose> {
    const { promise, resolve } = Promise.withResolvers<Loose>();
    const hear = (message: Loose) => {
      if (!isIt(message)) return false;
      resolve(message);
      return this.hearers.delete(hear);
    };
    this.hearers.add(hear);
    return Promise.race([promise, over]).finally(() => this.hearers.delete(hear));
  }

  async ask(method: string, params: Loose = {}): Promise<Loose> {
    const id = freshName('right');
    const isIt = (message: Loose) => message.method === undefined && message.id === id;
    const answer = await this.heard(isIt, this.tell({ id, method, params }));
    if (!answer?.result) throw new Error(`${method} was refused: ${answer?.error?.message}`);
    return answer.result;
  }
}

export class HttpTalk extends Talk {
  override readonly headers: readonly Header[];
  readonly #peer: Peer;
  readonly #shooter: Shooter;

  private constructor(peer: Peer, shooter: Shooter) {
    super();
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
    const talk = new HttpTalk(peer, shooter);
    // It ends with the server.
    talk.#read(await peer.listen()).catch(() => {});
    return talk;
  }

  async tell(message: Loose): Promise<void> {
    await this.#read(await this.#peer.post(message));
  }

  async #read(response: Response): Promise<void> {
    const type = response.headers.get('content-type') ?? '';
    if (type.includes('json')) this.hear(await response.json());
    if (type.includes('event-stream')) for await (const message of frames(response)) this.hear(message);
  }

  async send({ draft }: BadMessage): Promise<Answer> {
    const answer = await this.#shooter.send(draft);
    const { session } = answer.kind === 'answered' ? answer : {};
    if (session !== undefined && session !== this.#peer.sessionId) await this.#end(session);
    return answer;
  }

  /** A bad message has opened a session, which nobody needs. */
  async #end(session: string): Promise<void> {
    const headers: Header[] = [...this.headers.slice(0, -1), ['Mcp-Session-Id', session]];
    const draft = { ...draftOf(undefined, headers), httpMethod: 'DELETE', body: Buffer.alloc(0) };
    const ended = await this.#shooter.send(draft);
    if (ended.kind !== 'answered' || ended.status !== 200)
      throw new Error(`a session that was opened could not be ended: ${JSON.stringify(ended)}`);
  }
}

/** On a pipe there is no status, and nobody else. */
const notOnAPipe = ['S2026-02', 'S2663-98', 'S2663-99'];

/** What is no request of JSON-RPC may be passed over on a pipe. */
export function onAPipe(bad: BadMessage): BadMessage {
  const { expected, rows } = bad;
  const isUnanswerable = [parseError, invalidRequest].some((code) => expected.codes.has(code));
  return {
    ...bad,
    expected: { ...expected, isNotice: expected.isNotice || isUnanswerable },
    rows: rows.filter((row) => !notOnAPipe.includes(row)),
  };
}

export class PipeTalk extends Talk {
  readonly strays: string[] = [];
  readonly #program: Program;
  readonly #gone: Promise<never>;
  /** A right request, after whose answer there will be none to what was sent before. */
  readonly #ping: () => Promise<unknown>;

  constructor(program: Program, ping = (): Promise<unknown> => this.ask('ping')) {
    super();
    this.#program = program;
    this.#ping = ping;
    this.#gone = program.exit.then(({ code }) => {
      throw new Error(`the server ended: ${code}`);
    });
    this.#gone.catch(() => {});
    program.lines.on('line', (line) => {
      const message = read({ text: line });
      if (message?.jsonrpc === '2.0') this.hear(message);
      else this.strays.push(line);
    });
  }

  tell(message: Loose): Promise<never> {
    this.write(Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message })));
    return this.#gone;
  }

  write(line: Buffer, end = '\n'): void {
    this.#program.child.stdin!.write(Buffer.concat([line, Buffer.from(end)]));
  }

  send({ draft, expected }: BadMessage): Promise<Answer> {
    const line = Buffer.from(bodyOf(draft).filter((byte) => byte !== 0x0a));
    return this.exchange(line, idOf(draft.message), expected.isNotice);
  }

  /** Sends a line. Where silence is an answer, it counts as one once a later request has been answered. */
  async exchange(line: Buffer, id: unknown, mayBeSilent: boolean): Promise<Answer> {
    this.write(line);
    const silence = mayBeSilent ? this.#ping().then(() => undefined) : this.#gone;
    const said = await this.heard((message) => [id, null].includes(answeredId(message)), silence);
    return said === undefined ? { kind: 'nothing' } : { kind: 'answered', text: JSON.stringify(said) };
  }
}

export async function sessionOnAPipe(program: Program, drafts: readonly string[]): Promise<PipeTalk> {
  const talk = new PipeTalk(program);
  const clientInfo = { name: 'fuzz', version: '1' };
  const capabilities = flagging(...drafts);
  await talk.ask('initialize', { protocolVersion: '2025-11-25', clientInfo, capabilities });
  talk.tell({ method: 'notifications/initialized' }).catch(() => {});
  return talk;
}
