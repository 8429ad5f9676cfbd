/** Two servers on one store: a plain call is open at one of them, and the other hears that its client cancels it. */
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { joinOf, type Task } from '../../src/model/task.ts';
import type { Database } from '../../src/ports/queue.ts';
import { openPostgres } from '../../src/postgres.ts';
import { openSqlite } from '../../src/sqlite.ts';
import { type Message, Peer } from '../dialects/revision-2025-11-25/peer.ts';
import type { HttpProcess } from '../kit/server-process.ts';
import { textOf } from '../kit/text.ts';
import { freshDatabase } from '../postgres/database.ts';
import { Place } from '../serving/place.ts';
import type { ServerSettings } from '../serving/server.ts';
import { serve } from '../serving/server-process.ts';
import { idIn } from './stage.ts';

const tokens = {
  'ada-has-a-token-that-nobody-guesses': 'ada',
  'bob-has-a-token-that-nobody-guesses': 'bob',
};
const [ada, bob] = Object.keys(tokens) as [string, string];

interface Shared {
  readonly settings: ServerSettings;
  readonly open: () => Promise<Database>;
}

const stores: Readonly<Record<string, (file: string) => Promise<Shared>>> = {
  SQLite: async (file) => ({ settings: { file }, open: () => openSqlite(file) }),
  Postgres: async () => {
    const { url: store, remove } = await freshDatabase();
    onTestFinished(remove);
    return { settings: { store }, open: () => openPostgres(store) };
  },
};

class Scene {
  readonly place: Place;
  readonly database: Database;
  readonly first: HttpProcess;
  readonly second: HttpProcess;

  constructor(place: Place, database: Database, first: HttpProcess, second: HttpProcess) {
    this.place = place;
    this.database = database;
    this.first = first;
    this.second = second;
  }

  static async open(kind: string, more: Partial<ServerSettings> = { handOver: '1h' }): Promise<Scene> {
    const place = new Place();
    const { settings, open } = await stores[kind]!(place.database);
    const start = () => serve({ ...settings, tokens, tools: 'hand-over', ...more });
    const [first, second] = [await start(), await start()];
    const database = await open();
    onTestFinished(() => database.close());
    return new Scene(place, database, first, second);
  }

  /** A session that was opened at the first server, as each server sees it. */
  async session(token = ada): Promise<{ readonly first: Peer; readonly second: Peer }> {
    const [first, second] = [this.first, this.second].map(
      ({ url }) => new Peer(url, { capabilities: {}, token }),
    ) as [Peer, Peer];
    await first.open();
    second.sessionId = first.sessionId;
    return { first, second };
  }

  /** Leaves a call open at a server, and gives what comes on its stream. Its first step is recorded. */
  async call(peer: Peer, id: number | string, name = 'work') {
    const before = this.place.trace(name).length;
    const heard: Message[] = [];
    const leaving = new AbortController();
    const params = { name: 'steps', arguments: this.place.work(name) };
    const exchanged = peer
      .exchange({ id, method: 'tools/call', params }, (message) => heard.push(message), leaving.signal)
      .catch(() => {});
    const leave = () => leaving.abort();
    onTestFinished(() => {
      leave();
      return exchanged;
    });
    await expect.poll(() => this.place.trace(name).length).toBe(before + 1);
    const isRecorded = async () => (await this.#tasks()).every(({ version }) => version > 1);
    await expect.poll(isRecorded).toBe(true);
    return { heard, leave };
  }

  async #tasks(): Promise<Task[]> {
    const { tasks } = await this.database.queries.list({ limit: 99 });
    return tasks.filter((task) => 'version' in task);
  }

  /** Which call the only task answers. */
  async answering(): Promise<string | null> {
    const [task] = await this.#tasks();
    const [call] = await this.database.calls.undelivered(joinOf(task!)!.key!);
    return call!.answering;
  }

  async count(standing: 'cancelled' | 'running'): Promise<number> {
    return (await this.database.queries.list({ statuses: [standing], limit: 99 })).tasks.length;
  }

  /** Other requests of the second server are over when it has cancelled a later one. */
  async cancelAnother(): Promise<void> {
    const before = await this.count('cancelled');
    const { first, second } = await this.session();
    await this.call(first, 'another', 'another');
    await cancel(second, 'another');
    await expect.poll(() => this.count('cancelled')).toBe(before + 1);
  }
}

async function cancel(peer: Peer, requestId: number | string): Promise<number> {
  const response = await peer.post({ method: 'notifications/cancelled', params: { requestId } });
  await response.text();
  return response.status;
}

describe.each(Object.keys(stores))('on %s', (kind) => {
  test('the work is cancelled, nobody is answered, and a repeated call runs anew', async () => {
    const scene = await Scene.open(kind);
    const { place } = scene;
    const { first, second } = await scene.session();
    const { heard } = await scene.call(first, 99);
    expect(await cancel(second, 99)).toBe(202);
    await expect.poll(() => scene.count('cancelled')).toBe(1);

    place.open();
    expect(textOf((await first.call('steps', place.work())).result)).toBe('both');
    expect(place.trace()).toEqual(['first', 'first', 'second']);
    expect(heard).toEqual([]);
    expect(await scene.count('cancelled')).toBe(1);
  });

  test('a call that joined a lost one is cancelled by its own id, and not by that of the lost one', async () => {
    const scene = await Scene.open(kind);
    const { first, second } = await scene.session();
    const { leave } = await scene.call(first, 98);
    leave();
    await expect.poll(() => scene.answering()).toBeNull();
    const params = { name: 'steps', arguments: scene.place.work() };
    const joining = second.post({ id: 99, method: 'tools/call', params });
    await expect.poll(() => scene.answering()).not.toBeNull();
    await cancel(first, 98);
    await cancel(second, 98);
    await scene.cancelAnother();
    expect(await scene.count('running')).toBe(1);
    await cancel(first, 99);
    await expect.poll(() => scene.count('running')).toBe(0);
    expect(await scene.count('cancelled')).toBe(2);
    expect(scene.place.trace()).toEqual(['first']);
    await (await joining).body?.cancel();
  });

  test('another id, another session and another owner cancel nothing', async () => {
    const scene = await Scene.open(kind);
    const { place } = scene;
    const { first, second } = await scene.session();
    const { heard } = await scene.call(first, 99);
    for (const other of [98, '99', 'null']) expect(await cancel(second, other)).toBe(202);
    expect(await cancel((await scene.session()).second, 99)).toBe(202);
    expect(await cancel((await scene.session(bob)).second, 99)).toBe(202);
    const thief = new Peer(scene.second.url, { capabilities: {}, token: bob });
    thief.sessionId = first.sessionId;
    expect(await cancel(thief, 99)).toBe(404);
    await scene.cancelAnother();

    place.open();
    await expect.poll(() => heard.length).toBe(1);
    expect(textOf(heard[0]!.result)).toBe('both');
    expect(place.trace()).toEqual(['first', 'second']);
  });

  test('a call that was handed over is not cancelled', async () => {
    const scene = await Scene.open(kind, { handOver: '300ms' });
    const { place } = scene;
    const { first, second } = await scene.session();
    const { heard } = await scene.call(first, 99);
    await expect.poll(() => heard.length).toBe(1);
    await cancel(second, 99);
    const taskId = idIn(heard[0]!.result);
    place.open();
    for (;;) {
      const { result } = await second.call('task_wait', { taskId });
      if (result.structuredContent?.status === 'working') continue;
      expect(textOf(result)).toBe('both');
      break;
    }
    expect(await scene.count('cancelled')).toBe(0);
  });

  test('a call whose server died is lost and not open: it is not cancelled, and the same call joins it', async () => {
    const scene = await Scene.open(kind);
    const { place } = scene;
    const { first, second } = await scene.session();
    await scene.call(first, 99);
    await scene.first.kill();
    await cancel(second, 99);
    const again = second.call('steps', place.work());
    place.open();
    expect(textOf((await again).result)).toBe('both');
    expect(place.trace()).toEqual(['first', 'second']);
  });

  test('calls that end while they are cancelled are either answered or cancelled', async () => {
    const scene = await Scene.open(kind);
    const { first, second } = await scene.session();
    const names = Array.from({ length: 16 }, (_, n) => `work ${n}`);
    const calls = await Promise.all(names.map((name) => scene.call(first, name, name)));
    await Promise.all(
      names.map(async (name, n) => {
        // Gates are looked at every 50 ms.
        scene.place.open(name);
        await pause(n * 4);
        await cancel(second, name);
      }),
    );
    const answers = () => calls.flatMap(({ heard }) => heard.map(({ result }) => textOf(result)));
    const ended = async () => answers().length + (await scene.count('cancelled'));
    await expect.poll(ended).toBe(names.length);
    await expect.poll(() => scene.count('running')).toBe(0);
    await scene.cancelAnother();
    expect(await ended()).toBe(names.length + 1);
    expect(answers().every((text) => text === 'both')).toBe(true);
  });

  test('a call that no other may join, or that waits for its result, is cancelled as well', async () => {
    const scene = await Scene.open(kind, { plainClients: 'wait' });
    const { first, second } = await scene.session();
    const { heard } = await scene.call(first, 99);
    await cancel(second, 99);
    await expect.poll(() => scene.count('cancelled')).toBe(1);
    await scene.cancelAnother();
    expect(heard).toEqual([]);
  });

  test('an id that is used again names the later call', async () => {
    const scene = await Scene.open(kind);
    const { place } = scene;
    const { first, second } = await scene.session();
    const earlier = await scene.call(first, 99, 'earlier');
    place.open('earlier');
    await expect.poll(() => earlier.heard.length).toBe(1);
    await expect.poll(() => scene.count('running')).toBe(0);
    const { heard } = await scene.call(first, 99);
    await cancel(second, 99);
    await expect.poll(() => scene.count('cancelled')).toBe(1);
    await scene.cancelAnother();
    expect(heard).toEqual([]);
  });
});
