/**
 * What the cases share. Whatever a case that was not over in time leaves behind, or is still about to start, is ended
 * with the world.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Fixture, startFixture } from './fixture.ts';

/** Most of a case is waiting for the next poll, but some start four processes. */
const casesAtOnce = 3;

export class World implements AsyncDisposable {
  /** Of a fixture server that stays for the whole run, with its tasks in memory. */
  readonly url: URL;
  readonly #root: string;
  readonly #owned: Promise<AsyncDisposable>[] = [];
  readonly #waiting: (() => void)[] = [];
  #running = 0;

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
  fixture(store: string): Promise<Fixture> {
    return this.own(startFixture(store));
  }

  own<T extends AsyncDisposable>(resource: Promise<T>): Promise<T> {
    this.#owned.push(resource);
    return resource;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const resource of this.#owned) await resource.then((owned) => owned[Symbol.asyncDispose](), ignore);
    await rm(this.#root, { recursive: true });
  }
}

/** What could not be started need not be ended. */
function ignore(): void {}
