/** Whether SEP-2229 is on: only where both sides flag it. Everywhere else the rules of 2025-11-25 hold strictly. */
import { describe, expect, test } from 'vitest';
import { serving } from '../drafts/peer.ts';
import { Peer } from '../revision-2025-11-25/peer.ts';
import { quickResult, tools } from './tools.ts';

const combinations = [
  { server: true, client: true },
  { server: true, client: false },
  { server: false, client: true },
  { server: false, client: false },
];

describe.each(combinations)(
  'flagged by the server: $server, by the client: $client',
  ({ server, client }) => {
    const isOn = server && client;
    const open = async () => {
      const { open } = await serving({
        ...(server && { drafts: ['sep-2229'] }),
        window: '1m',
        more: tools,
      });
      return open(client ? ['sep-2229'] : []);
    };

    test('S2229-14: a call that does not ask for a task gets one only where the draft is on', async () => {
      const peer = await open();
      for (const name of ['quick_always', 'nap']) {
        const { result } = await peer.call(name, { ms: 1 });
        expect(Object.keys(result)).toEqual([isOn ? 'task' : 'content']);
      }
    });

    test('S2229-14: a call that asks for a task gets one, unless the draft is on and the server does not care to', async () => {
      const peer = await open();
      const { result } = await peer.call('quick_auto', {}, { task: {} });
      if (isOn) expect(result).toEqual(quickResult);
      else expect(Object.keys(result)).toEqual(['task']);
    });

    test('S2229-03 S2229-09: a tool that is never a task refuses to be one only where the draft is off', async () => {
      const peer = await open();
      for (const [name, input] of [
        ['quick_never', {}],
        ['greet', { name: 'Ada' }],
      ] as const) {
        const answer = await peer.call(name, input, { task: {} });
        if (isOn) expect(answer.result.content).toHaveLength(1);
        else expect(answer.error).toMatchObject({ code: -32601, message: expect.stringContaining(name) });
      }
    });

    test('S2229-03 S2229-12: a tool that must be a task refuses a plain call only where the draft is off', async () => {
      const peer = await open();
      const answer = await peer.call('held_required');
      if (isOn) expect(answer.result.task.status).toBe('working');
      else expect(answer.error).toMatchObject({ code: -32601, message: expect.stringContaining('"task"') });
    });

    test('S2229-08 S2229-14: resources and prompts are tasks only where the draft is on', async () => {
      const peer = await open();
      const task = { ttl: 60_000 };
      const read = await peer.request('resources/read', { uri: 'report://daily', task });
      expect(Object.keys(read.result)).toEqual([isOn ? 'task' : 'contents']);
      const got = await peer.request('prompts/get', { name: 'letter', arguments: { to: 'Ada' }, task });
      expect(Object.keys(got.result)).toContain(isOn ? 'task' : 'messages');
    });

    test('the methods about tasks are the same', async () => {
      const peer = await open();
      const { taskId } = (await peer.call('held_always', {}, { task: {} })).result.task;
      expect((await peer.get(taskId)).result.status).toBe('working');
      expect((await peer.request('tasks/continue', { taskId })).error.code).toBe(-32601);
      expect((await peer.request('tasks/cancel', { taskId })).result.status).toBe('cancelled');
      expect((await peer.request('tasks/result', { taskId })).error.code).toBe(-32603);
    });
  },
);

test('S2229-01: the server flags the draft exactly if it is on', async () => {
  const { url } = await serving({ drafts: ['sep-2229'], showLimits: false });
  const { url: other } = await serving({ showLimits: false });
  expect((await new Peer(url).open()).capabilities.experimental).toEqual({ 'sep-2229': {} });
  expect((await new Peer(other).open()).capabilities.experimental).toBe(undefined);
});
