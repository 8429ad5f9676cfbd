/** Sessions belong to whoever opened them, whichever process knows them. */
import { McpHandler, staticTokens } from 'holdfast/server';
import { sqlite } from 'holdfast/sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { fixtureFactory, fixtureTasks } from '../fixture/server.ts';
import { Place } from '../serving/place.ts';

test('S1686-74: whoever tries a session of another after a restart does not keep its owner out', async () => {
  const place = new Place();
  const [ada, bob] = ['ada', 'bob'].map((name) => `token-of-${name}`.padEnd(32, 'x')) as [string, string];
  const auth = staticTokens({ [ada]: { clientId: 'ada' }, [bob]: { clientId: 'bob' } });
  const tasks = fixtureTasks({ store: sqlite(place.database) });
  const handlers = [1, 2].map(() => new McpHandler(tasks, fixtureFactory(tasks), { auth }));
  onTestFinished(async () => {
    for (const handler of handlers) await handler.close();
    await tasks.close();
  });
  const post = (handler: McpHandler, token: string, message: object, session?: string) =>
    handler.fetch(
      new Request('http://127.0.0.1/mcp', {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          authorization: `Bearer ${token}`,
          ...(session !== undefined && { 'mcp-session-id': session }),
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
      }),
    );
  const params = {
    protocolVersion: '2025-11-25',
    clientInfo: { name: 'peer', version: '1' },
    capabilities: {},
  };
  const opened = await post(handlers[0]!, ada, { method: 'initialize', params });
  await opened.text();
  const session = opened.headers.get('mcp-session-id')!;
  const tried = [bob, ada, bob].map((token) => post(handlers[1]!, token, { method: 'tools/list' }, session));
  const answers = await Promise.all(tried);
  expect(answers.map(({ status }) => status)).toEqual([404, 200, 404]);
  await Promise.all(answers.map((answer) => answer.text()));
});
