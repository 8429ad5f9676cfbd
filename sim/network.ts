/**
 * A network between simulated processes: HTTP requests and answers with streamed bodies. Data on one connection keeps
 * its order, but may be late, lost or cut off; a request may arrive twice. A connection to a dead process fails after a
 * while.
 */
import type { Random } from './random.ts';
import type { SimProcess } from './world.ts';

interface Server {
  readonly process: SimProcess;
  readonly handler: (request: Request) => Promise<Response>;
}

/** The faults of the network, as probabilities. */
export interface Weather {
  /** The maximum delay in milliseconds; the minimum is 1. */
  maxDelayMs: number;
  /** A request that never arrives. */
  lost: number;
  /** A request that arrives twice. */
  doubled: number;
  /** A connection that is cut before, or between, pieces of an answer. */
  cut: number;
}

export const calm: Weather = { maxDelayMs: 5, lost: 0, doubled: 0, cut: 0 };

export class Network {
  readonly #random: Random;
  readonly #hosts = new Map<string, () => readonly Server[]>();
  readonly counts = { requests: 0, lost: 0, doubled: 0, cut: 0, refused: 0 };
  weather: Weather = { ...calm };
  onRequest: ((what: string) => void) | undefined;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Sends requests for this host to a random one of these servers. */
  balance(host: string, servers: () => readonly Server[]): void {
    this.#hosts.set(host, servers);
  }

  /** The `fetch` of a process. */
  fetchOf(client: SimProcess): typeof fetch {
    return (input, init) => {
      const request = new Request(input as string | URL | Request, init);
      return this.#fetch(client, request, init?.signal ?? undefined);
    };
  }

  async #fetch(client: SimProcess, asked: Request, signal: AbortSignal | undefined): Promise<Response> {
    const body = asked.method === 'GET' ? undefined : await asked.text();
    signal?.throwIfAborted();
    this.counts.requests++;
    const servers = this.#hosts.get(new URL(asked.url).host)?.() ?? [];
    const server = servers.length > 0 ? this.#random.pick(servers) : undefined;
    this.onRequest?.(
      `${client.name} sends to ${server?.process.name}: ${asked.method} ${body?.slice(0, 160) ?? ''}`,
    );
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const failed = (why: string) => reject(new TypeError('fetch failed', { cause: new Error(why) }));
    const connection = new Connection(client, server?.process, () => this.#delay(), resolve, failed);
    signal?.addEventListener('abort', () => {
      reject(signal.reason);
      this.onRequest?.(`${client.name} aborts ${body?.slice(0, 60) ?? asked.method}`);
      connection.leave(signal.reason);
    });
    if (!server || server.process.isDead) {
      this.counts.refused++;
      connection.toClient(() => failed('connect ECONNREFUSED'));
      return promise;
    }
    if (this.#random.chance(this.weather.lost)) {
      this.counts.lost++;
      client.receive(() => failed('connect ETIMEDOUT'), this.#random.between(1_000, 10_000));
      return promise;
    }
    const { url, method, headers } = asked;
    const arrive = (isFirst: boolean) => {
      const request = new Request(url, {
        method,
        headers,
        ...(body !== undefined && { body }),
        signal: connection.left,
      });
      const answered = server.handler(request);
      if (isFirst) void this.#carry(connection, answered);
      else void answered.then((answer) => answer.body?.cancel()).catch(() => {});
    };
    connection.toServer(() => arrive(true));
    if (this.#random.chance(this.weather.doubled)) {
      this.counts.doubled++;
      connection.toServer(() => arrive(false));
    }
    return promise;
  }

  /** In the server: sends the answer in chunks. */
  async #carry(connection: Connection, answered: Promise<Response>): Promise<void> {
    try {
      const { status, headers, body } = await answered;
      if (connection.left.aborted || this.#isCut(connection)) return void body?.cancel();
      connection.begin(status, [...headers], body !== null);
      const reader = body?.getReader();
      connection.left.addEventListener('abort', () => void reader?.cancel().catch(() => {}));
      for (;;) {
        const piece = await reader?.read();
        if (!piece || piece.done) return connection.end();
        if (this.#isCut(connection)) return void reader?.cancel().catch(() => {});
        connection.send(piece.value);
      }
    } catch (error) {
      connection.break(String(error));
    }
  }

  #isCut(connection: Connection): boolean {
    if (!this.#random.chance(this.weather.cut)) return false;
    this.counts.cut++;
    connection.break('read ECONNRESET');
    return true;
  }

  #delay(): number {
    return this.#random.between(1, this.weather.maxDelayMs);
  }
}

/** One request and its answer. Data keeps its order in each direction. */
class Connection {
  readonly #client: SimProcess;
  readonly #server: SimProcess | undefined;
  readonly #delay: () => number;
  readonly #resolve: (response: Response) => void;
  readonly #failed: (why: string) => void;
  readonly #left = new AbortController();
  /** The arrival time of the last message in each direction. */
  readonly #arrival = { client: 0, server: 0 };
  #body: ReadableStreamDefaultController<Uint8Array> | undefined;
  #isOver = false;

  constructor(
    client: SimProcess,
    server: SimProcess | undefined,
    delay: () => number,
    resolve: (response: Response) => void,
    failed: (why: string) => void,
  ) {
    this.#client = client;
    this.#server = server;
    this.#delay = delay;
    this.#resolve = resolve;
    this.#failed = failed;
    server?.atDeath.push(() => this.#outOfBand('read ECONNRESET'));
    client.atDeath.push(() => this.leave(new Error('The client is gone.')));
  }

  /** In the server: aborted when the client has aborted the request. */
  get left(): AbortSignal {
    return this.#left.signal;
  }

  toClient(act: () => void): void {
    this.#send('client', this.#client, act);
  }

  toServer(act: () => void): void {
    if (this.#server) this.#send('server', this.#server, act);
  }

  /** In the client. */
  leave(reason: unknown): void {
    this.#isOver = true;
    this.toServer(() => this.#left.abort(reason));
  }

  // --- In the server --------------------------------------------------------------------------------------

  begin(status: number, headers: [string, string][], hasBody: boolean): void {
    this.toClient(() => {
      if (this.#isOver) return;
      const body = hasBody
        ? new ReadableStream<Uint8Array>({
            start: (controller) => {
              this.#body = controller;
            },
            cancel: (reason) => this.leave(reason),
          })
        : null;
      this.#resolve(new Response(body, { status, headers }));
    });
  }

  send(piece: Uint8Array): void {
    this.toClient(() => {
      if (!this.#isOver) this.#body?.enqueue(piece);
    });
  }

  end(): void {
    this.toClient(() => {
      if (this.#isOver) return;
      this.#isOver = true;
      this.#body?.close();
    });
  }

  break(why: string): void {
    this.#outOfBand(why);
    this.#left.abort(new Error(why));
  }

  #outOfBand(why: string): void {
    this.toClient(() => {
      if (this.#isOver) return;
      this.#isOver = true;
      if (this.#body) this.#body.error(new TypeError('terminated', { cause: new Error(why) }));
      else this.#failed(why);
    });
  }

  #send(to: 'client' | 'server', process: SimProcess, act: () => void): void {
    const { time } = process.world;
    this.#arrival[to] = Math.max(time + this.#delay(), this.#arrival[to]);
    process.receive(act, this.#arrival[to] - time);
  }
}
