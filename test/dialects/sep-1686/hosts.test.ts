/** Servers of the SDK that an author hosts without sessions: there a name has nobody to belong to but its owner. */
import { type AuthInfo, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import { expect, onTestFinished, test } from 'vitest';
import { fixtureFactory, fixtureTasks, storeFrom } from '../../fixture/server.ts';
import { frames, type Message, revision } from '../revision-2025-11-25/peer.ts';
import { created, drafts, related, taskKey } from './requestor.ts';

/** Answers each request with a server of its own, and gives everything that it said. */
async function withoutSessions() {
  const tasks = fixtureTasks({ store: storeFrom('memory:'), drafts });
  await tasks.work({ grace: '100ms' });
  onTestFinished(() => tasks.close());
  return async (method: string, params: object, clientId?: string): Promise<Message[]> => {
    const transport = new WebStandardStreamableHTTPServerTransport({});
    await (await fixtureFactory(tasks)({ era: 'legacy' })).connect(transport);
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': revision,
    };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const request = new Request('http://127.0.0.1/mcp', { method: 'POST', headers, body });
    const authInfo: AuthInfo | undefined =
      clientId === undefined ? undefined : { token: 'verified', clientId, scopes: [] };
    const response = await transport.handleRequest(request, authInfo && { authInfo });
    const said: Message[] = [];
    for await (const message of frames(response)) said.push(message);
    return said;
  };
}

const call = { name: 'big', arguments: { bytes: 3 }, _meta: { [taskKey]: { taskId: 'one' } } };
const about = { taskId: 'one', _meta: related('one') };

test('S1686-74 S1686-75 S1686-77: where nobody can be told apart there are no names that others could guess', async () => {
  const send = await withoutSessions();
  const answered = await send('tools/call', call);
  expect(answered).toHaveLength(1);
  expect(answered[0]!.result.content[0].text).toBe('xxx');
  for (const method of ['tasks/get', 'tasks/result'])
    expect((await send(method, about))[0]!.error.code).toBe(-32602);
});

test('S1686-75: with a token a name belongs to its owner', async () => {
  const send = await withoutSessions();
  expect((await send('tools/call', call, 'ada')).map(({ method }) => method)).toEqual([created, undefined]);
  expect((await send('tasks/result', about, 'ada'))[0]!.result.content[0].text).toBe('xxx');
  expect((await send('tasks/result', about, 'bob'))[0]!.error.code).toBe(-32602);
  expect((await send('tools/call', call, 'ada'))[0]!.error.code).toBe(-32602);
});
