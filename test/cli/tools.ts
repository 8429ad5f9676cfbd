/** Tools that ask a form with every kind of field and a link, and two slow tools. */
import { setTimeout as pause } from 'node:timers/promises';
import { durableTool } from 'holdfast';
import { z } from 'zod';

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

/** Reports progress with wide characters and control characters. */
const haul = durableTool('haul', { description: 'Hauls.', task: 'always' }, async (_, task) => {
  await task.step('haul', async ({ signal }) => {
    task.progress(3, 10, '\x1b[2J海藻を岩から\n引き上げて、桟橋まで運んでいます。もうすぐです。');
    await pause(60_000, undefined, { signal });
  });
  return { content: [] };
});

/** Answers after five seconds, without a task. */
const linger = durableTool('linger', { description: 'Lingers.', task: 'never' }, async (_, task) => {
  await task.sleep(5_000);
  return { content: [{ type: 'text', text: 'lingered' }] };
});

export default [order, sign, haul, linger];
