/** What the cases share. Everything that a case leaves running is ended with the world. */
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Fixture, startFixture } from './fixture.ts';

export class World implements AsyncDisposable {
  readonly #root = mkdtempSync(join(tmpdir(), 'holdfast-interop-'));
  readonly #owned: Promise<AsyncDisposable>[] = [];
  readonly #shared = new Map<string, Promise<AsyncDisposable>>();
  readonly #turns = new Map<string, Promise<void>>();

  /** Of a fixture server that stays for the whole run, with its tasks in memory. */
  get url(): Promise<URL> {
    return this.shared('fixture', () => startFixture()).then(({ url }) => url);
  }

  /** A server that tells its callers apart, and what every request of one of them must carry. */
  async guarded(owner: 'ada' | 'bob') {
    const tokens = 'token-of-ada=ada,token-of-bob=bob';
    const { url } = await this.shared('guarded', () => startFixture('--tokens', tokens));
    return { url, requestInit: { headers: { authorization: `Bearer token-of-${owner}` } } };
  }

  /** A server of one case, which can be killed and started again on its store. */
  lasting(): Promise<Fixture> {
    return this.own(startFixture('--store', `sqlite:${join(this.folder(), 'tasks.db')}`));
  }

  /** A folder that nobody else uses. */
  folder(): string {
    return mkdtempSync(join(this.#root, 'case-'));
  }

  /** Opened by the first that needs it, for all. */
  shared<T extends AsyncDisposable>(name: string, open: () => Promise<T>): Promise<T> {
    if (!this.#shared.has(name)) this.#shared.set(name, this.own(open()));
    return this.#shared.get(name) as Promise<T>;
  }

  /** Runs it when those before it under the same name are over. */
  inTurn(name: string, run: () => Promise<void>): Promise<void> {
    const before = this.#turns.get(name) ?? Promise.resolve();
    const turn = before.catch(() => {}).then(run);
    this.#turns.set(name, turn);
    return turn;
  }

  own<T extends AsyncDisposable>(resource: Promise<T>): Promise<T> {
    this.#owned.push(resource);
    return resource;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // What could not be started need not be ended.
    await Promise.allSettled(this.#owned.map(async (resource) => (await resource)[Symbol.asyncDispose]()));
    await rm(this.#root, { recursive: true });
  }
}
