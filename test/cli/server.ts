/** The fixture server, with two tools more that ask what people are asked: a form of every kind of field, and a link. */
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createTasks, type DurableTool, durableTool } from 'holdfast';
import { serveHttp, serveStdio } from 'holdfast/server';
import { z } from 'zod';
import { fixtureFactory, storeFrom } from '../fixture/server.ts';
import { tokensOf } from '../fixture/tokens.ts';
import { fixtureTools } from '../fixture/tools.ts';

const Order = z.object({
  name: z.string().min(2).meta({ title: 'Name on the parcel' }),
  crates: z.int().min(1).max(10).default(3).meta({ title: 'Crates' }),
  size: z.enum(['small', 'medium', 'large']).default('medium').meta({ title: 'Size' }),
  gift: z.boolean().default(false).meta({ title: 'As a gift?' }),
  note: z.string().optional().meta({ title: 'Note' }),
});

const order = durableTool('order', { description: 'Orders kelp.', task: 'always' }, async (_, task) => {
  const answer = await task.ask('order', { message: 'What shall be sent?', schema: Order });
  return { content: [{ type: 'text', text: JSON.stringify(answer) }] };
});

const sign = durableTool(
  'sign',
  { description: 'Has something signed.', task: 'always' },
  async (_, task) => {
    const { action } = await task.ask('signature', {
      message: 'Sign the contract.',
      url: 'https://sign.example/contract?id=1',
    });
    return { content: [{ type: 'text', text: `signed: ${action}` }] };
  },
);

/** Speaks of what it does, in wide characters and in characters that would steer a terminal. */
const haul = durableTool('haul', { description: 'Hauls.', task: 'always' }, async (_, task) => {
  await task.step('haul', async ({ signal }) => {
    task.progress(3, 10, '\x1b[2J海藻を岩から\n引き上げて、桟橋まで運んでいます。もうすぐです。');
    await pause(60_000, undefined, { signal });
  });
  return { content: [] };
});

/** Answers its call, however long that takes. */
const linger = durableTool('linger', { description: 'Lingers.', task: 'never' }, async (_, task) => {
  await task.sleep(5_000);
  return { content: [{ type: 'text', text: 'lingered' }] };
});

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    store: { type: 'string', default: 'memory:' },
    stdio: { type: 'boolean', default: false },
    drafts: { type: 'boolean', default: false },
    token: { type: 'string' },
  },
});
const tasks = createTasks({
  store: storeFrom(values.store),
  tools: [...fixtureTools, order, sign, haul, linger] as readonly DurableTool[],
  ...(values.drafts && { drafts: 'all' }),
  ...(values.token && { owner: () => 'owner' }),
});
const factory = fixtureFactory(tasks);
await tasks.work({ concurrency: 64 });
if (values.stdio) await serveStdio(tasks, factory).stopped;
else {
  const auth = values.token && { auth: tokensOf(new Map([[values.token, 'owner']])) };
  const { url } = await serveHttp(tasks, factory, { port: Number(values.port), ...auth });
  console.log(`ready ${url}`);
}
