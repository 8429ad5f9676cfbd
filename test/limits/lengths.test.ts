/** Names that callers and authors choose have a length that every store can keep in its indexes. */
import { randomBytes } from 'node:crypto';
import { McpServer } from '@modelcontextprotocol/server';
import { createTasks, durableTool, type Tasks } from 'holdfast';
import { serveHttp, staticTokens } from 'holdfast/server';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Peer, withTasks } from '../dialects/revision-2026-07-28/peer.ts';
import { withCode } from '../kit/with-code.ts';
import { kinds, open } from '../stores/kinds.ts';

/** Random, so that no database can make it shorter. */
function ofLength(length: number): string {
  return randomBytes(length).toString('base64url').slice(0, length);
}

const echo = durableTool('e'.repeat(128), { task: 'always', version: 'ü'.repeat(128) }, async () => 'ok');

async function served(tasks: Tasks, auth?: ReturnType<typeof staticTokens>): Promise<string> {
  const factory = () => {
    const mcp = new McpServer({ name: 'lengths', version: '1' });
    tasks.attach(mcp);
    return mcp;
  };
  const server = await serveHttp(tasks, factory, { port: 0, stopOn: [], ...(auth && { auth }) });
  onTestFinished(() => server.stop());
  return server.url;
}

describe.each(kinds)('on $name', ({ place }) => {
  async function started(options: { readonly audit?: boolean } = {}) {
    const tasks = createTasks({ store: async () => open(await place()), tools: [echo], ...options });
    onTestFinished(() => tasks.close());
    await tasks.work();
    return tasks;
  }

  test('the longest owner, idempotency key, tool name and version work together', async () => {
    const tasks = await started();
    const options = { owner: ofLength(1_024), idempotencyKey: ofLength(512) };
    const { id } = await tasks.create(echo, undefined, options);
    expect((await tasks.create(echo, undefined, options)).id).toBe(id);
    expect(await tasks.outcome(id)).toMatchObject({ kind: 'result', isError: false });
  });

  test('characters that a store must escape count with their escapes', async () => {
    const tasks = await started();
    for (const character of ['\0', '\ud800', '\\', 'ü', '𝄞', '"']) {
      const bytes = new TextEncoder().encode(JSON.stringify(character)).length - 2;
      const name = (most: number) => character.repeat(Math.floor(most / bytes));
      const { phase } = await tasks.create(echo, undefined, {
        owner: name(1_024),
        idempotencyKey: name(512),
      });
      expect(phase).toBeDefined();
      const tooLong = tasks.create(echo, undefined, { owner: `${name(1_024)}${character}` });
      await expect(tooLong).rejects.toThrow(withCode('NAME_TOO_LONG'));
    }
  });

  test('a longer key or owner is refused with a sentence, and nobody else notices', async () => {
    const tasks = await started();
    const made = (options: object) => tasks.create(echo, undefined, options);
    const [key, owner, other] = await Promise.allSettled([
      made({ idempotencyKey: ofLength(513) }),
      made({ owner: ofLength(1_025) }),
      made({ idempotencyKey: 'k' }),
    ]);
    expect(key).toMatchObject({
      reason: {
        code: 'NAME_TOO_LONG',
        message:
          'The idempotency key is 513 bytes long. The maximum is 512 bytes. Use a shorter one, such as a UUID.',
      },
    });
    expect(owner).toMatchObject({ status: 'rejected', reason: withCode('NAME_TOO_LONG') });
    expect(other.status).toBe('fulfilled');
  });

  test('over HTTP a longer key is refused with invalid params', async () => {
    const tasks = await started();
    const peer = new Peer(await served(tasks), withTasks);
    const answer = await peer.call(
      echo.name,
      {},
      { _meta: { 'dev.holdfast/idempotency-key': ofLength(513) } },
    );
    expect(answer).toMatchObject({
      error: { code: -32602, message: expect.stringContaining('513 bytes long. The maximum is 512 bytes') },
    });
  });

  test('over HTTP a token with a longer owner is refused, and the audit log still tells of others', async () => {
    const tasks = await started({ audit: true });
    const tokens = { long: ofLength(22), short: ofLength(22) };
    const auth = staticTokens({
      [tokens.long]: { clientId: ofLength(5_000) },
      [tokens.short]: { clientId: 'short' },
    });
    const url = await served(tasks, auth);
    const peerWith = (token: string) => new Peer(url, withTasks, { authorization: `Bearer ${token}` });
    const peer = peerWith(tokens.long);
    expect(await peer.call(echo.name)).toMatchObject({
      error: { code: -32602, message: expect.stringMatching(/^The owner .* maximum is 1,024/) },
    });
    for (const one of [peer, peerWith(tokens.short)])
      expect(await one.get('nothing')).toMatchObject({ error: { code: -32602 } });
    const denied = async () =>
      (await tasks.audit.read({ action: 'denied' })).entries.map(({ owner }) => owner!.length);
    await expect.poll(async () => (await denied()).length).toBe(2);
    expect(Math.max(...(await denied()))).toBeLessThanOrEqual(1_024);
  });
});

test('a version of a tool that is longer than 128 characters, or empty, is refused', () => {
  const tool = (version: string) => () => durableTool('t', { version }, async () => 'ok');
  expect(tool('1'.repeat(128))).not.toThrow();
  expect(tool('1'.repeat(129))).toThrow(withCode('INVALID_TOOL'));
  expect(tool('')).toThrow(withCode('INVALID_TOOL'));
});
