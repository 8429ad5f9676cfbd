/**
 * What the cases share. Whatever a case that was not over in time leaves behind, or is still about to start, is ended
 * with the world.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Fixture, type FixtureOptions, startFixture } from './fixture.ts';
import { openGateway } from './gateway/upstreams.ts';

/** Most of a case is waiting for the next poll, but some start four processes. */
const casesAtOnce = 3;

const owners = ['ada', 'bob'] as const;
type Owner = (typeof owners)[number];

/** Where a server is, and what every request to it must carry. */
export interface Guarded {
  readonly url: URL;
  readonly requestInit: { readonly headers: Record<string, string> };
}

export class World implements AsyncDisposable {
  /** Of a fixture server that stays for the whole run, with its tasks in memory. */
  readonly url: URL;
  readonly #root: string;
  readonly #owned: Promise<AsyncDisposable>[] = [];
  readonly #waiting: (() => void)[] = [];
  #running = 0;
  #guarded: Promise<Fixture> | undefined;
  #gateway: ReturnType<typeof openGateway> | undefined;

  static async open(): Promise<World> {
    const fixture = await startFixture();
    return new World(await mkdtemp(join(tmpdir(), 'holdfast-interop-')), fixture);
  }

  private constructor(root: string, fixture: Fixture) {
    this.#root = root;
    this.url = fixture.url;
    this.#owned.push(Promise.resolve(fixture));
  }

  async inTurn(run: () => Promise<void>): Promise<void> {
    if (this.#running === casesAtOnce) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running++;
    try {
      await run();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running--;
    }
  }

  /** A folder that nobody else uses. */
  folder(): Promise<string> {
    return mkdtemp(join(this.#root, 'case-'));
  }

  /** Another server, with a store of its own. */
  fixture(options: FixtureOptions): Promise<Fixture> {
    return this.own(startFixture(options));
  }

  /** A server that tells its callers apart, for one of them. */
  async guarded(owner: Owner): Promise<Guarded> {
    this.#guarded ??= this.fixture({ tokens: owners.map((name) => `token-of-${name}=${name}`).join() });
    const { url } = await this.#guarded;
    return { url, requestInit: { headers: { authorization: `Bearer token-of-${owner}` } } };
  }

  /** A gateway that stays for the whole run, with servers of others behind it. */
  get gateway(): Promise<URL> {
    this.#gateway ??= this.own(this.folder().then(openGateway));
    return this.#gateway.then(({ url }) => url);
  }

  own<T extends AsyncDisposable>(resource: Promise<T>): Promise<T> {
    this.#owned.push(resource);
    return resource;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      this.#owned.map((resource) => resource.then((owned) => owned[Symbol.asyncDispose](), ignore)),
    );
    await rm(this.#root, { recursive: true });
  }
}

/** What could not be started need not be ended. */
function ignore(): void {}
