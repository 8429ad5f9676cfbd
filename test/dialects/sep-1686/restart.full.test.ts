/** `kill -9`: what a requestor has named is there afterwards, under its name, and is carried out once. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Place } from '../../serving/place.ts';
import { fixtureOnStdio, serveFixture } from '../../serving/server-process.ts';
import { Peer } from '../revision-2025-11-25/peer.ts';
import { created, Requestor } from './requestor.ts';

const owners = 'token-of-ada=ada,token-of-bob=bob';

/** The steps that ran, in their order. */
function stepsOf(file: string): string[] {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  return lines.map((line) => line.split(' ')[0]!);
}

/** A requestor that goes on in a session that another server has opened. */
function continuing(url: string, sessionId: string | undefined, token?: string): Requestor {
  const peer = new Peer(url, token === undefined ? {} : { token });
  peer.sessionId = sessionId;
  return new Requestor(peer);
}

test.each([
  ['with tokens', ['--tokens', owners], 'token-of-ada'],
  ['anonymous', [], undefined],
])(
  'S1686-02 S1686-22 S1686-23 S1686-24: over HTTP, %s, a server that is killed is followed by one that knows the name, refuses it to others, and goes on with the work',
  async (_, args, token) => {
    const place = new Place();
    const { trace: file } = place.work('ledger');
    const serve = () => serveFixture('--drafts', '--store', `sqlite:${place.database}`, ...args);
    const first = await serve();
    const peer = new Peer(first.url, token === undefined ? {} : { token });
    await peer.open();
    const ledger = { file, steps: 6, delayMs: 100 };
    // An impatient requestor sends its request again and again; one of them makes the task.
    const before = new Requestor(peer);
    const attempts = Array.from({ length: 5 }, () => before.begin('one', 'ledger', ledger));
    await Promise.race(attempts.map((attempt) => attempt.next(created)));
    await expect.poll(() => stepsOf(file)).toContain('2');
    await first.kill();

    const second = await serve();
    const requestor = continuing(second.url, peer.sessionId, token);
    // The requestor never heard what became of its request, and sends it again.
    expect((await requestor.begin('one', 'ledger', ledger).reply).error.code).toBe(-32602);
    await requestor.until('one', 'completed');
    expect((await requestor.result('one')).result.structuredContent).toEqual({ steps: 6, passes: 2 });
    // Each step once; the one that was cut short, twice.
    expect([...new Set(stepsOf(file))]).toEqual(['1', '2', '3', '4', '5', '6']);
    expect(stepsOf(file).length).toBeLessThanOrEqual(7);

    if (token === undefined) return;
    const stranger = new Peer(second.url, { token: 'token-of-bob' });
    await stranger.open();
    expect((await new Requestor(stranger).get('one')).error.code).toBe(-32602);
    const sameOwner = new Peer(second.url, { token });
    await sameOwner.open();
    expect((await new Requestor(sameOwner).get('one')).error.code).toBe(-32602);
  },
);

/** The fixture server as a child of its client. */
async function child(database: string) {
  const server = fixtureOnStdio(['--drafts', '--store', `sqlite:${database}`]);
  return { server, requestor: new Requestor(await server.client.open()) };
}

test('S1686-02 S1686-22 S1686-24: over a pipe, the next process knows the name, refuses it, and goes on with the work', async () => {
  const place = new Place();
  const { trace: file } = place.work('ledger');
  const first = await child(place.database);
  const ledger = { file, steps: 6, delayMs: 100 };
  await first.requestor.start('one', 'ledger', ledger);
  await expect.poll(() => stepsOf(file)).toContain('2');
  await first.server.kill();

  const { requestor } = await child(place.database);
  expect((await requestor.begin('one', 'ledger', ledger).reply).error.code).toBe(-32602);
  await requestor.until('one', 'completed');
  expect((await requestor.result('one')).result.structuredContent).toEqual({ steps: 6, passes: 2 });
  expect([...new Set(stepsOf(file))]).toHaveLength(6);
  expect(stepsOf(file).length).toBeLessThanOrEqual(7);
  expect((await requestor.listAll()).map(({ taskId }) => taskId)).toEqual(['one']);
});
