/** What bad messages have found in sessions: one small message for each mistake, so that none comes back. */
import { expect, test } from 'vitest';
import { type Message, served } from '../../dialects/revision-2025-11-25/peer.ts';
import { Peer as LaterPeer, withTasks } from '../../dialects/revision-2026-07-28/peer.ts';

const drafts = 'all';

test.each([
  ['resources/read', {}, /uri/],
  ['resources/read', { uri: 5 }, /uri/],
  ['prompts/get', { name: {} }, /name/],
])('%s with %j has invalid params, and is not a failure of the server', async (method, params, words) => {
  const { peer } = await served({ drafts });
  const { error } = await peer.request(method, params);
  expect(error).toMatchObject({ code: -32602, message: expect.stringMatching(words) });
  expect(error.message).toMatch(/^Invalid params: [^[{]+\.$/);
});

test('an initialize that lacks something is told so, and opens no session', async () => {
  const { url } = await served();
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const params = { protocolVersion: '2025-11-25', capabilities: {} };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'initialize', params });
  const response = await fetch(url, { method: 'POST', headers, body });
  expect(response.status).toBe(400);
  expect(response.headers.get('mcp-session-id')).toBe(null);
  expect(await response.json()).toMatchObject({
    id: 7,
    error: { code: -32602, message: expect.stringContaining('clientInfo') },
  });
});

test.each(['tasks/get', 'tools/list'])(
  '%s in a revision that there is none of is refused, whichever way it takes',
  async (method) => {
    const { url, peer } = await served();
    const taskId = await peer.start('nap', { ms: 1 });
    const headers = {
      ...peer.headers(),
      'content-type': 'application/json',
      'mcp-protocol-version': '2025-11-25x',
    };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { taskId } });
    expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(400);
  },
);

test.each(['tasks/delete', 'tasks/continue'])(
  'that there is no %s is said in the way of HTTP too, though a draft has it',
  async (method) => {
    const { url } = await served({ drafts });
    const reply = await new LaterPeer(url, withTasks).request(method, { taskId: 'x' });
    expect(reply).toMatchObject({ status: 404, error: { code: -32601 } });
  },
);

test('only the id of a question answers it, and nothing that reads as the same number', async () => {
  const { peer } = await served();
  const taskId = await peer.start('ask_name');
  const messages = peer.result(taskId);
  const { value: question } = (await messages.next()) as { value: Message };
  const accepted = (name: string) => ({ action: 'accept', content: { name } });
  const [, number] = /-(\d+)/.exec(question.id)!;
  for (const alias of [` ${number}`, `${number}.0`, `0${number}`, `0x${Number(number).toString(16)}`])
    await peer.answer(question.id.replace(/-\d+/, `-${alias}`), accepted('Eve'));
  await peer.answer(question.id, accepted('Ada'));
  const { value: answer } = await messages.next();
  expect(answer.result.content[0].text).toBe('Hello, Ada!');
});
