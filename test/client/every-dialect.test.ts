import { Client } from '@modelcontextprotocol/client';
import { connectTasks } from 'holdfast/client';
import { expect, test } from 'vitest';
import { served } from '../revision-2025-11-25/peer.ts';

const modes = [
  ['2026', { versionNegotiation: { mode: 'auto' } }, {}],
  ['2026+subtasks', { versionNegotiation: { mode: 'auto' } }, { drafts: 'all' }],
  ['2025', {}, {}],
  ['2339+2268', {}, { drafts: ['sep-2339', 'sep-2268'] }],
  ['all drafts', {}, { drafts: 'all' }],
  ['1686', {}, { dialect: 'sep-1686' }],
] as const;

test.each(modes)('client %s', async (_, clientOptions, options) => {
  const { url } = await served({ drafts: 'all' });
  const client = new Client({ name: 'c', version: '1' }, clientOptions as never);
  const asked: string[] = [];
  const tasks = await connectTasks(client, url, {
    ...(options as object),
    handles: 'memory:',
    pace: { floorMs: 10, ceilingMs: 100 },
    answers: ['form', 'sampling'],
    answer: (question) => {
      asked.push(question.kind);
      if (question.kind === 'sampling')
        return { role: 'assistant', model: 'm', content: { type: 'text', text: 'tides' } };
      const { properties } = (question as { schema: { properties: object } }).schema;
      return { action: 'accept', content: 'name' in properties ? { name: 'Kelp' } : { confirm: true } };
    },
  });
  try {
    expect((await tasks.callTool({ name: 'greet', arguments: { name: 'x' } })).content).toEqual([
      { type: 'text', text: 'Hello, x!' },
    ]);
    const handle = await tasks.call('slow_compute', { seconds: 0.4 });
    const updates: string[] = [];
    const reading = (async () => {
      for await (const update of handle.updates())
        updates.push(update.type === 'status' ? update.task.status : update.type);
    })();
    expect((await handle.result()).content).toEqual([{ type: 'text', text: 'done' }]);
    await reading;
    console.log(_, updates.join(' '));
    expect((await tasks.callTool({ name: 'ask_name' })).content).toEqual([
      { type: 'text', text: 'Hello, Kelp!' },
    ]);
    expect((await tasks.callTool({ name: 'sample', arguments: { prompt: 'x' } })).content).toEqual([
      { type: 'text', text: 'tides' },
    ]);
    expect(asked).toEqual(['form', 'sampling']);
    const fan = await tasks.call('fan_out', { children: 2, depth: 2, delayMs: 50, ask: true });
    expect((await fan.result()).content).toEqual([
      { type: 'text', text: 'parent (parent 1.1 1.2) (parent 2.1 2.2)' },
    ]);
    console.log(_, JSON.stringify(await fan.results()));
    await expect(tasks.callTool({ name: 'protocol_error_job' })).rejects.toThrow('broke the protocol');
    expect((await tasks.callTool({ name: 'failing_job' })).isError).toBe(true);
    const spin = await tasks.call('nap', { ms: 60_000 });
    await new Promise((r) => setTimeout(r, 100));
    await spin.cancel();
    await expect(spin.result()).rejects.toThrow(/cancel/);
    expect(await tasks.readResource({ uri: 'report://daily' })).toMatchObject({
      contents: [{ text: 'The report daily.' }],
    });
  } finally {
    await tasks.close();
  }
});
