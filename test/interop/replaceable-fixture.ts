import { join } from 'node:path';
import type { Fixture } from './fixture.ts';
import type { World } from './world.ts';

/** A fixture server that can be killed, without a chance to tidy up, and replaced by another on its port and its store. */
export class ReplaceableFixture implements AsyncDisposable {
  readonly #world: World;
  readonly #store: string;
  #fixture: Fixture;

  static async open(world: World): Promise<ReplaceableFixture> {
    const store = `sqlite:${join(await world.folder(), 'tasks.db')}`;
    return new ReplaceableFixture(world, store, await world.fixture({ store }));
  }

  private constructor(world: World, store: string, fixture: Fixture) {
    this.#world = world;
    this.#store = store;
    this.#fixture = fixture;
  }

  get url(): URL {
    return this.#fixture.url;
  }

  async replace(): Promise<void> {
    await this.#fixture.kill();
    this.#fixture = await this.#world.fixture({ store: this.#store, port: this.url.port });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#fixture[Symbol.asyncDispose]();
  }
}
