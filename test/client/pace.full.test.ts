/** How often a caller looks: the longest of what is asked for, within the host's bounds, and a little spread. */
import { Client } from '@modelcontextprotocol/client';
import { connectTasks } from 'holdfast/client';
import { describe, expect, test } from 'vitest';
import { Pace } from '../../src/remote-tasks/retry-loop.ts';
import { served } from '../dialects/revision-2025-11-25/peer.ts';
import { HostileServer, type Says } from '../techniques/hostile/server.ts';

const never = () => 0;
const always = () => 1 - Number.EPSILON;

describe('the next look', () => {
  const pace = new Pace({ floorMs: 100, ceilingMs: 60_000, defaultMs: 1_000 }, never);

  test('comes when the server says', () => {
    expect(pace.next({ hintMs: 2_500 })).toBe(2_500);
  });

  test('comes after the default if the server says nothing', () => {
    expect(pace.next({})).toBe(1_000);
    expect(pace.next({ hintMs: undefined })).toBe(1_000);
  });

  test.each([0, -1, -1e308, 99, 0.001])('is never sooner than the floor: %d', (hintMs) => {
    expect(pace.next({ hintMs })).toBe(100);
  });

  test.each([60_001, 1e12, Number.MAX_VALUE, Number.POSITIVE_INFINITY])(
    'is never later than the ceiling: %d',
    (hintMs) => {
      expect(pace.next({ hintMs })).toBe(60_000);
    },
  );

  test('comes later with each failure in a row, up to the ceiling', () => {
    const waits = Array.from({ length: 12 }, (_, failures) => pace.next({ hintMs: 0, failures }));
    expect(waits.slice(0, 5)).toEqual([100, 250, 500, 1_000, 2_000]);
    expect(waits.at(-1)).toBe(60_000);
    expect(pace.next({ hintMs: 0, failures: 1e9 })).toBe(60_000);
  });

  test('waits for the longest of hint, failures, Retry-After and safety net', () => {
    const all = { hintMs: 300, failures: 2, retryAfterMs: 700, atLeastMs: 600 };
    expect(pace.next(all)).toBe(700);
    expect(pace.next({ ...all, hintMs: 800 })).toBe(800);
    expect(pace.next({ ...all, failures: 4 })).toBe(2_000);
    expect(pace.next({ ...all, atLeastMs: 10_000 })).toBe(10_000);
  });

  test('a server that asks to be left alone for longer than the ceiling is not obeyed', () => {
    expect(pace.next({ retryAfterMs: 86_400_000 })).toBe(60_000);
  });
});

describe('the spread', () => {
  test('is up to a tenth of the wait, and never before its end', () => {
    const late = new Pace({ floorMs: 100, ceilingMs: 60_000 }, always);
    expect(late.next({ hintMs: 1_000 })).toBeCloseTo(1_100, 5);
    const waits = Array.from({ length: 1_000 }, () => new Pace().next({ hintMs: 1_000 }));
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(1_000);
    expect(Math.max(...waits)).toBeLessThanOrEqual(1_100);
    expect(new Set(waits).size).toBeGreaterThan(500);
  });

  test('stays below the ceiling', () => {
    expect(new Pace({ ceilingMs: 5_000 }, always).next({ hintMs: 5_000 })).toBe(5_000);
  });
});

describe('bounds that contradict each other or no timer can keep', () => {
  test('a ceiling below the floor is the floor', () => {
    expect(new Pace({ floorMs: 500, ceilingMs: 100 }, never).next({ hintMs: 1 })).toBe(500);
  });

  test('a ceiling that is too long for a timer is not one that ends at once', () => {
    const pace = new Pace({ ceilingMs: Number.POSITIVE_INFINITY }, never);
    expect(pace.next({ hintMs: 1e15 })).toBe(2 ** 31 - 1);
  });
});

/** Between the requests of a method. */
function gaps(times: readonly number[]): number[] {
  return times.slice(1).map((time, n) => time - times[n]!);
}

describe('on a server', () => {
  test('that hints, no look comes before the hint says so', async () => {
    const { url } = await served();
    const looks: number[] = [];
    const client = new Client({ name: 'c', version: '1' });
    const tasks = await connectTasks(client, url, { registry: 'memory:' });
    const transport = client.transport!;
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
      if ('method' in message && message.method === 'tasks/get') looks.push(performance.now());
      return send(message, options);
    };
    try {
      // The fixture asks for a second between looks; what it pushes meanwhile may shorten the last wait only.
      await tasks.callTool({ name: 'nap', arguments: { ms: 2_500 } });
    } finally {
      await tasks.close();
    }
    expect(looks.length).toBeGreaterThanOrEqual(3);
    for (const gap of gaps(looks).slice(0, -1)) expect(gap).toBeGreaterThan(990);
    expect(looks.length).toBeLessThanOrEqual((looks.at(-1)! - looks[0]!) / 1_000 + 3);
  });

  test('whose hint changes, the newest counts', async () => {
    const says: Says = ({ before }) => ({
      resultType: 'complete',
      taskId: 'root',
      status: before < 4 ? 'working' : 'completed',
      pollIntervalMs: before < 1 ? 1_500 : 50,
      result: { content: [] },
    });
    const server = await new HostileServer(
      '2026-07-28',
      { 'tasks/get': says },
      { extensions: { 'io.modelcontextprotocol/tasks': {} }, tools: {} },
    ).listen();
    const client = new Client({ name: 'c', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    const tasks = await connectTasks(client, server.url, { registry: 'memory:', pace: { floorMs: 10 } });
    await tasks.callTool({ name: 't' });
    await tasks.close();
    await server.close();
    const [first, second, third, fourth] = gaps(server.times('tasks/get'));
    expect(first).toBeGreaterThan(1_490);
    for (const gap of [second, third, fourth]) expect(gap).toBeGreaterThan(48);
    // One that is on time is enough: a busy machine may hold up any of them.
    expect(Math.min(second!, third!, fourth!)).toBeLessThan(1_490);
  });
});
