import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createTasks, durableTool, ProtocolError, TerminalError } from '../../src/index.ts';
import { sqlite } from '../../src/sqlite.ts';
import { runTool } from '../../src/testing.ts';

test('a handler is a function, and its steps run once however often it is interrupted', async () => {
  const ran: string[] = [];
  const tool = durableTool(
    'greet',
    { inputSchema: z.object({ name: z.string() }) },
    async ({ name }, task) => {
      const greeting = await task.step('find a greeting', () => {
        ran.push('find a greeting');
        return 'Hello';
      });
      return await task.step('put it together', () => {
        ran.push('put it together');
        return `${greeting}, ${name}!`;
      });
    },
  );
  const { result, passes } = await runTool(tool, { name: 'Ada' }, { crashAfterEveryEntry: true });
  expect(result).toEqual({ content: [{ type: 'text', text: 'Hello, Ada!' }] });
  expect(ran).toEqual(['find a greeting', 'put it together']);
  expect(passes).toBe(3);
});

test('the value of a step is what JSON gives back, on the first pass too', async () => {
  const seen: unknown[] = [];
  const tool = durableTool('dates', {}, async (_, task) => {
    seen.push(await task.step('date', () => new Date(0)));
    seen.push(await task.step('gap', () => ({ here: 1, gone: undefined })));
    seen.push(await task.step('nothing', () => undefined));
  });
  await runTool(tool, undefined);
  expect(seen).toEqual(['1970-01-01T00:00:00.000Z', { here: 1 }, undefined]);
});

test.each([
  ['a function', () => 1, /"list.0.deep" that JSON cannot represent \(a function\)/],
  ['a bigint', 1n, /a bigint/],
  ['not a number', Number.NaN, /NaN/],
  ['a map', new Map(), /a Map/],
  ['an error', new Error('x'), /a Error/],
])('a step that returns %s fails at once and says where', async (_, value, message) => {
  const tool = durableTool('odd', { retry: { attempts: 5 } }, async (_, task) => {
    await task.step('odd', () => ({ list: [{ deep: value }] }));
  });
  const { result } = await runTool(tool, undefined);
  expect(result.isError).toBe(true);
  expect(result.content[0]!.text).toMatch(message);
  expect(result.content[0]!.text).toMatch(/The step "odd"/);
});

test('a failing step is tried again, each rest twice as long, and its key stays the same', async () => {
  const tries: { attempt: number; key: string }[] = [];
  const tool = durableTool('flaky', {}, async (_, task) => {
    const before = task.now();
    await task.step(
      'flaky',
      ({ attempt, key }) => {
        tries.push({ attempt, key });
        if (attempt < 4) throw new Error('Not yet.');
      },
      { retry: { attempts: 4, delay: '10s' } },
    );
    return { waited: task.now() - before };
  });
  const { result } = await runTool(tool, undefined, { crashAfterEveryEntry: true });
  expect(tries.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4]);
  expect(new Set(tries.map(({ key }) => key)).size).toBe(1);
  expect(JSON.parse(String(result.content[0]!.text)).waited).toBeGreaterThanOrEqual(70_000);
});

test('a step that fails for good throws into the handler, the same error on every pass', async () => {
  const caught: string[] = [];
  const tool = durableTool('careful', {}, async (_, task) => {
    try {
      await task.step('break', () => {
        throw new TypeError('Broken.');
      });
    } catch (error) {
      caught.push(`${(error as Error).name}: ${(error as Error).message}`);
    }
    await task.step('clean up', () => 'clean');
    return 'fine';
  });
  const { result } = await runTool(tool, undefined, { crashAfterEveryEntry: true });
  expect(result.content[0]!.text).toBe('fine');
  expect(new Set(caught)).toEqual(new Set(['TypeError: Broken.']));
});

test('a terminal error is not tried again', async () => {
  let tries = 0;
  const tool = durableTool('hopeless', { retry: { attempts: 9 } }, async (_, task) => {
    await task.step('hopeless', () => {
      tries++;
      throw new TerminalError('No use.');
    });
  });
  const { result } = await runTool(tool, undefined);
  expect(tries).toBe(1);
  expect(result).toMatchObject({ isError: true, content: [{ text: 'No use.' }] });
});

test('an attempt that takes too long is told to stop, and the next one may succeed', async () => {
  let stopped = false;
  const tool = durableTool('slow', {}, async (_, task) => {
    return await task.step(
      'slow',
      ({ attempt, signal }) =>
        attempt > 1
          ? 'quick'
          : new Promise<string>(() => {
              signal.addEventListener('abort', () => {
                stopped = true;
              });
            }),
      { timeout: '20ms', retry: { attempts: 2, delay: 0 } },
    );
  });
  const { result } = await runTool(tool, undefined);
  expect(result.content[0]!.text).toBe('quick');
  expect(stopped).toBe(true);
});

test('an ordinary exception ends as an error result, and a protocol error as a failure with its code', async () => {
  const throws = durableTool('throws', {}, async () => {
    throw new Error('It broke.');
  });
  expect((await runTool(throws, undefined)).outcome).toEqual({
    kind: 'result',
    isError: true,
    value: { content: [{ type: 'text', text: 'It broke.' }], isError: true },
  });
  const fails = durableTool('fails', {}, async (_, task) => {
    await task.step('fail', () => {
      throw new ProtocolError(-32050, 'Out of ink.', { colour: 'cyan' });
    });
  });
  expect((await runTool(fails, undefined)).outcome).toEqual({
    kind: 'failure',
    code: -32050,
    message: 'Out of ink.',
    data: { colour: 'cyan' },
  });
});

test('output is checked against its schema and shown both ways', async () => {
  const outputSchema = z.object({ sum: z.number() });
  const adds = durableTool('adds', { outputSchema }, async () => ({ sum: 3 }));
  expect((await runTool(adds, undefined)).result).toEqual({
    content: [{ type: 'text', text: '{"sum":3}' }],
    structuredContent: { sum: 3 },
  });
  const lies = durableTool('lies', { outputSchema }, async () => ({ sum: 'three' }) as never);
  const { result } = await runTool(lies, undefined);
  expect(result).toMatchObject({ isError: true });
  expect(result.content[0]!.text).toMatch(/The output of lies does not fit its schema: sum: /);
});

test('input that does not fit is refused before there is a task', async () => {
  const tool = durableTool('picky', { inputSchema: z.object({ n: z.number() }) }, async () => 'never');
  await expect(runTool(tool, { n: 'one' as never })).rejects.toThrow(
    /The input of picky does not fit its schema: n: /,
  );
});

test('task.now() is the time of the last entry, the same on every pass', async () => {
  const times = new Map<number, Set<number>>();
  const tool = durableTool('clock', {}, async (_, task) => {
    for (let n = 0; n < 3; n++) {
      await task.sleep('1h');
      times.set(n, (times.get(n) ?? new Set()).add(task.now()));
    }
  });
  await runTool(tool, undefined, { crashAfterEveryEntry: true });
  expect([...times.values()].map((seen) => seen.size)).toEqual([1, 1, 1]);
  const [first, second] = [...times.values()].map((seen) => [...seen][0]!);
  expect(second! - first!).toBeGreaterThanOrEqual(3_600_000);
});

test('a call on the task inside a step is refused', async () => {
  const tool = durableTool('nested', {}, async (_, task) => {
    await task.step('outer', async () => {
      await task.step('inner', () => 1);
    });
  });
  const { result } = await runTool(tool, undefined);
  expect(result.content[0]!.text).toMatch(/task.step\(\) was called inside the step "outer"/);
});

test('a timer awaited outside a step is found by runTool, with its place', async () => {
  const tool = durableTool('impatient', {}, async (_, task) => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    await task.step('fine', () => 1);
  });
  await expect(runTool(tool, undefined)).rejects.toThrow(
    /starts asynchronous work outside its steps: Timeout at \S*steps\.test\.ts\S* It could/,
  );
});

test('a request made outside a step is found by runTool, with its place', async () => {
  await using server = createServer((_, response) => response.end('fetched')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const tool = durableTool('curious', {}, async () => {
    const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: 'close' } });
    return response.text();
  });
  await expect(runTool(tool, undefined)).rejects.toThrow(
    /starts asynchronous work outside its steps.*steps\.test\.ts/s,
  );
});

test('a journal that grows too long ends the task with advice', async () => {
  const tool = durableTool('endless', { maxJournalEntries: 20 }, async (_, task) => {
    for (let n = 0; ; n++) await task.step(`step ${n}`, () => n);
  });
  const { result } = await runTool(tool, undefined);
  expect(result).toMatchObject({ isError: true });
  expect(result.content[0]!.text).toMatch(/grow beyond 20 entries.*subtasks.*task\.waitForCondition/);
});

test('a value that is too large is refused with advice, wherever it comes from', async () => {
  const { tasks, tool } = await withLimit(1_000);
  await expect(tasks.create(tool, { text: 'x'.repeat(1_000) })).rejects.toThrow(
    /The call of big gave a value of/,
  );
  for (const where of ['step', 'result']) {
    const { id } = await tasks.create(tool, { where });
    const outcome = await tasks.outcome(id);
    expect(outcome).toMatchObject({ kind: 'result', isError: true });
    expect(JSON.stringify(outcome)).toMatch(/the limit is 1000. Store large data elsewhere/);
  }
  await tasks.close();
});

async function withLimit(maxValueSize: number) {
  const tool = durableTool(
    'big',
    { inputSchema: z.object({ where: z.string().optional(), text: z.string().optional() }) },
    async ({ where }, task) => {
      if (where === 'step') await task.step('big', () => 'x'.repeat(maxValueSize));
      return 'x'.repeat(maxValueSize);
    },
  );
  const tasks = createTasks({ store: sqlite('memory:'), tools: [tool], maxValueSize });
  await tasks.work();
  return { tasks, tool };
}

test('a handler may report progress and take its time, in the test kit too', async () => {
  const slow = durableTool('slow', {}, async (_, task) => {
    task.progress(1, 2);
    await task.step('slow', () => new Promise((resolve) => setTimeout(resolve, 400)));
    return 'done';
  });
  const { outcome } = await runTool(slow, undefined);
  expect(outcome).toMatchObject({ kind: 'result', isError: false });
});
