// The snippets of docs/authoring.md, in a file that runs and checks itself.
//   npm run example examples/authoring/authoring.ts
import { strict as assert } from 'node:assert';
import { createTasks, durablePrompt, durableResource, durableTool, TerminalError } from 'holdfast';
import { sqlite } from 'holdfast/sqlite';
import { ManualClock, runTool } from 'holdfast/testing';
import { z } from 'zod';

const charged: string[] = [];
const bank = {
  charge(amount: number, { key }: { key: string }) {
    if (!charged.includes(key)) charged.push(key);
    return { receipt: `${amount} under ${key.length} characters of key` };
  },
  status: () => (charged.length > 0 ? 'settled' : undefined),
};

const order = durableTool(
  'order',
  {
    description: 'Charges a card, waits for the money, and ships.',
    inputSchema: z.object({ amount: z.number().positive() }),
    outputSchema: z.object({ shipped: z.boolean() }),
    version: '1',
    deadline: '30d',
    retention: '7d',
  },
  async ({ amount }, task) => {
    const { receipt } = await task.step('charge', ({ key }) => bank.charge(amount, { key }), {
      retry: { attempts: 5, delay: '2s' },
      timeout: '30s',
    });
    task.setStatusMessage(`Charged: ${receipt}`);
    await task.waitForCondition('settled', () => bank.status(), { every: '1m', timeout: '2d' });

    const answer = await task.ask('gift', {
      message: 'Wrap it as a gift?',
      schema: z.object({ wrap: z.boolean() }),
    });
    const wrap = answer.action === 'accept' && answer.content.wrap;
    const parcel = await task.waitForEvent('packed', {
      schema: z.object({ weight: z.number() }),
      timeout: '3d',
    });
    await task.step('ship', () => `${wrap ? 'gift' : 'parcel'} of ${parcel.weight} g`);
    return { shipped: true };
  },
);

const picky = durableTool('picky', { retry: { attempts: 10 } }, async (_, task) => {
  await task.step('check', () => {
    throw new TerminalError('The card is stolen: a retry would not help.');
  });
});

const answers = { gift: { action: 'accept', content: { wrap: true } } };
const events = { packed: { weight: 900 } };

const run = await runTool(order, { amount: 12 }, { answers, events, crashAfterEveryEntry: true });
assert.deepEqual(run.result.structuredContent, { shipped: true });
assert.equal(charged.length, 1);

const refused = await runTool(picky, undefined);
assert.equal(refused.result.isError, true);

const reminder = durableTool('reminder', { deadline: 'none' }, async (_, task) => {
  await task.sleep('365d');
  return `It is ${new Date(task.now()).getUTCFullYear()}.`;
});
const clock = new ManualClock(Date.UTC(2026, 0, 1));
assert.deepEqual((await runTool(reminder, undefined, { clock })).result.content, [
  { type: 'text', text: 'It is 2027.' },
]);

const forecast = durableResource(
  'forecast',
  { uri: 'forecast://{harbour}/{+period}', mimeType: 'text/plain', description: 'Tides, computed slowly.' },
  async ({ variables }, task) => {
    const tides = await task.step('compute', () => `high water in ${variables.harbour} at noon`);
    return `${variables.period}: ${tides}`;
  },
);
const briefing = durablePrompt(
  'briefing',
  { argsSchema: z.object({ ship: z.string() }) },
  async ({ ship }, task) => {
    const cargo = await task.step('look up the cargo', () => 'kelp');
    return `Brief the crew of the ${ship}, which carries ${cargo}.`;
  },
);

const uri = 'forecast://kiel/2026/may';
const read = await runTool(forecast, { uri }, { crashAfterEveryEntry: true });
const text = '2026/may: high water in kiel at noon';
assert.deepEqual(read.result.contents, [{ uri, mimeType: 'text/plain', text }]);
const briefed = await runTool(briefing, { ship: 'Erna' });
assert.equal(briefed.result.messages[0]?.role, 'user');

const greet = durableTool('greet', { version: '2' }, async (_, task) => {
  const name = await task.step('find the name', () => 'Ada');
  return await task.step('greet politely', () => `Good morning, ${name}.`);
});
const greetBefore = durableTool('greet', { version: '1' }, async (_, task) => {
  return await task.step('greet', () => 'Hello.');
});

const pay = durableTool(
  'pay',
  {
    inputSchema: z.object({ apiKey: z.string(), cards: z.array(z.object({ number: z.string() })) }),
    secrets: ['apiKey', 'cards[].number'],
  },
  async ({ apiKey, cards }, task) => task.step('pay', () => `paid with ${cards.length}, by ${apiKey.length}`),
);

await using tasks = createTasks({ store: sqlite('memory:'), tools: [greetBefore, greet] });
await using worker = await tasks.work({ concurrency: 16 });
const { id } = await tasks.create('greet', undefined, { idempotencyKey: 'morning' });
const outcome = await tasks.outcome(id);
assert.equal(JSON.stringify(outcome).includes('Good morning, Ada.'), true);
assert.ok(worker);
const paid = await runTool(pay, { apiKey: 'hunter2', cards: [{ number: '4111' }] });
assert.deepEqual(paid.result.content, [{ type: 'text', text: 'paid with 1, by 7' }]);
console.log('every snippet holds');
