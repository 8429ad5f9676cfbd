import { readFile } from 'node:fs/promises';
import { setTimeout as timer, setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { HandlerRefused } from '../../../src/engine/replay/comparison.ts';
import { type HandlerByHand, onePassOf, toTheEnd } from './host.ts';
import { subtaskTool } from './tell.ts';
import { World } from './world.ts';

const whatToDo = /move the awaited work into its own step/;

/** Takes as long as nobody ends it. */
const endless = () => new Promise<never>(() => {});

async function refusal(handler: HandlerByHand): Promise<string> {
  const end = await onePassOf(new World(1), handler);
  expect(end).toMatchObject({ type: 'threw', error: expect.any(HandlerRefused) });
  return (end as { error: HandlerRefused }).error.message;
}

test.each([
  ['a timer', () => timer(1)],
  ['a turn of the event loop', () => turnOfTheLoop()],
  ['a file', () => readFile(import.meta.filename)],
])('%s awaited beside an open call is refused, with a sentence that says what to do', async (_, wait) => {
  const message = await refusal(async (task) => {
    await Promise.all([task.step('slow', endless), wait().then(() => task.step('next', () => 1))]);
  });
  expect(message).toMatch(
    /^task\.step\("next"\) was reached through something awaited outside a step \(a timer, a request, a file\) while task\.step\("slow"\) was open\./,
  );
  expect(message).toMatch(whatToDo);
});

test('a timer beside an open question is refused too', async () => {
  const message = await refusal(async (task) => {
    await Promise.all([task.ask('sure', { roots: true }), turnOfTheLoop().then(() => task.sleep('1h'))]);
  });
  expect(message).toMatch(/^task\.sleep\(\) was reached .* while task\.ask\("sure"\) was open/);
});

test('a handler that ends because a timer won against a step is refused', async () => {
  const message = await refusal(async (task) => {
    return await Promise.race([task.step('slow', endless), timer(1, 'too late')]);
  });
  expect(message).toMatch(/^The end of the handler was reached .* while task\.step\("slow"\) was open/);
  expect(message).toMatch(whatToDo);
});

test('a handler that throws because a timer won against a step is refused', async () => {
  const message = await refusal(async (task) => {
    const late = timer(1).then(() => {
      throw new Error('Too late');
    });
    await Promise.race([task.step('slow', endless), late]);
  });
  expect(message).toMatch(/^The end of the handler was reached/);
});

test('of two timers that fire one after the other, the second is refused, even in one turn of the event loop', async () => {
  const message = await refusal(async (task) => {
    const timers = [
      timer(2).then(() => task.step('a', endless)),
      timer(2).then(() => task.step('b', endless)),
    ];
    for (const until = performance.now() + 10; performance.now() < until; );
    await Promise.all(timers);
  });
  expect(message).toMatch(/^task\.step\("b"\) was reached .* while task\.step\("a"\) was open/);
});

test('a timer that ends with nothing open beside it is harmless, and so are several calls after it', async () => {
  const world = new World(1);
  const ran: string[] = [];
  const run = (name: string) => () => {
    ran.push(name);
    return name;
  };
  const handler: HandlerByHand = async (task) => {
    const first = await task.step('first', run('first'));
    await timer(1);
    const both = await Promise.all([
      task.step('a', run('a')),
      (async () => {
        for (let n = 0; n < 20; n++) await new Promise<void>((resolve) => process.nextTick(resolve));
        return task.step('b', run('b'));
      })(),
    ]);
    await timer(1);
    return [first, ...both];
  };
  expect(await onePassOf(world, handler, { diesAfter: 1 })).toEqual({ type: 'stopped' });
  expect(await onePassOf(world, handler, { diesAfter: 1 })).toEqual({ type: 'stopped' });
  expect(await onePassOf(world, handler)).toEqual({ type: 'returned', value: ['first', 'a', 'b'] });
  expect(ran.filter((name) => name === 'first')).toEqual(['first']);
});

test('a handler that is not where its journal says because it awaits something alone is given time', async () => {
  const world = new World(1);
  const handler = (wait: () => Promise<unknown>): HandlerByHand => {
    return async (task) => {
      await wait();
      return task.step('after it', () => 'done');
    };
  };
  await onePassOf(
    world,
    handler(async () => {}),
    { diesAfter: 1 },
  );
  expect(
    await onePassOf(
      world,
      handler(() => timer(20)),
    ),
  ).toEqual({ type: 'returned', value: 'done' });
});

test('what a step tells the handler otherwise than by its value is refused', async () => {
  const message = await refusal(async (task) => {
    const leak = Promise.withResolvers<void>();
    void task.step('leaky', () => {
      leak.resolve();
      return endless();
    });
    await leak.promise;
    await task.step('next', () => 1);
  });
  expect(message).toMatch(/^task\.step\("next"\) was reached/);
});

test('`finally` does not run and `catch` catches nothing when a pass parks', async () => {
  const world = new World(1);
  const seen: string[] = [];
  const handler: HandlerByHand = async (task) => {
    try {
      return await task.ask('name', { roots: true });
    } catch (error) {
      seen.push(`caught ${error}`);
      throw error;
    } finally {
      seen.push('finally');
    }
  };
  expect(await onePassOf(world, handler)).toEqual({ type: 'parked' });
  expect(seen).toEqual([]);
  expect(await toTheEnd(withAnswers(world), handler)).toMatchObject({ type: 'returned' });
  expect(seen).toEqual(['finally']);
});

test('a handler that catches everything again and again cannot keep a pass from parking', async () => {
  const world = new World(1);
  const handler: HandlerByHand = async (task) => {
    for (;;) {
      try {
        return await Promise.any([task.sleep('1h'), task.waitForEvent('never')]);
      } catch {
        // Once more.
      }
    }
  };
  expect(await onePassOf(world, handler)).toEqual({ type: 'parked' });
});

test('a handler cannot swallow a refusal', async () => {
  const message = await refusal(async (task) => {
    void task.step('slow', endless);
    for (;;) {
      try {
        await timer(1);
        return await task.step('next', () => 1);
      } catch {
        // Once more.
      }
    }
  });
  expect(message).toMatch(whatToDo);
});

test.each<[string, (task: Parameters<HandlerByHand>[0]) => unknown]>([
  ['step', (task) => task.step('inner', () => 1)],
  ['ask', (task) => task.ask('inner', { roots: true })],
  ['sleep', (task) => task.sleep(1)],
  ['waitForEvent', (task) => task.waitForEvent('inner')],
  ['waitForCondition', (task) => task.waitForCondition('inner', () => true, { every: 1 })],
  ['start', (task) => task.start(subtaskTool)],
])('task.%s() inside a step throws an error that says what to do instead', async (kind, call) => {
  const handler: HandlerByHand = (task) =>
    task.step('outer', async () => {
      await null;
      await call(task);
    });
  expect(await onePassOf(new World(1), handler)).toMatchObject({
    type: 'threw',
    error: {
      name: 'HandlerRefused',
      message: `task.${kind}() was called inside the step "outer". A step can only return a value: call it after the step.`,
    },
  });
});

function withAnswers(world: World): World {
  for (const { happen } of world.happenings()) happen();
  return world;
}
