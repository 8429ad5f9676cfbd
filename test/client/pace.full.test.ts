/** The time between polls: the maximum of all requested delays, within the host's bounds, plus jitter. */
import { Client } from '@modelcontextprotocol/client';
import { connectTasks } from 'holdfast/client';
import { describe, expect, test } from 'vitest';
import { Pace } from '../../src/remote-tasks/retry-loop.ts';
import { served } from '../dialects/revision-2025-11-25/peer.ts';
import { HostileServer, type Says } from '../techniques/hostile/server.ts';

const never = () => 0;
const always = () => 1 - Number.EPSILON;

describe('the next poll', () => {
  const pace = new Pace({ floorMs: 100, ceilingMs: 60_000, defaultMs: 1_000 }, never);

  test('follows the hint of the server', () => {
    expect(pace.next({ hintMs: 2_500 })).toBe(2_500);
  });

  test('follows the default without a hint', () => {
    expect(pace.next({})).toBe(1_000);
    expect(pace.next({ hintMs: undefined })).toBe(1_000);
  });

  test.each([0, -1, -1e308, 99, 0.001])('is never before the floor: %d', (hintMs) => {
    expect(pace.next({ hintMs })).toBe(100);
  });

  test.each([60_001, 1e12, Number.MAX_VALUE, Number.POSITIVE_INFINITY])(
    'is never later than the ceiling: %d',
    (hintMs) => {
      expect(pace.next({ hintMs })).toBe(60_000);
    },
  );

  test('backs off with each failure, up to the ceiling', () => {
    const waits = Array.from({ length: 12 }, (_, failures) => pace.next({ hintMs: 0, failures }));
    expect(waits.slice(0, 5)).toEqual([100, 250, 500, 1_000, 2_000]);
    expect(waits.at(-1)).toBe(60_000);
    expect(pace.next({ hintMs: 0, failures: 1e9 })).toBe(60_000);
  });

  test('waits for the maximum of hint, backoff, Retry-After and safety net', () => {
    const all = { hintMs: 300, failures: 2, retryAfterMs: 700, atLeastMs: 600 };
    expect(pace.next(all)).toBe(700);
    expect(pace.next({ ...all, hintMs: 800 })).toBe(800);
    expect(pace.next({ ...all, failures: 4 })).toBe(2_000);
    expect(pace.next({ ...all, atLeastMs: 10_000 })).toBe(10_000);
  });

  test('a hint beyond the ceiling is ignored', () => {
    expect(pace.next({ retryAfterMs: 86_400_000 })).toBe(60_000);
  });
});

describe('the jitter', () => {
  test('adds up to a tenth of the wait', () => {
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

describe('bounds that contradict each other or exceed a timer', () => {
  test('a ceiling below the floor is raised to the floor', () => {
    expect(new Pace({ floorMs: 500, ceilingMs: 100 }, never).next({ hintMs: 1 })).toBe(500);
  });

  test('a ceiling that is too long for a timer does not fire at once', () => {
    const pace = new Pace({ ceilingMs: Number.POSITIVE_INFINITY }, never);
    expect(pace.next({ hintMs: 1e15 })).toBe(2 ** 31 - 1);
  });
});

/** Between the requests of a method. */
function gaps(times: readonly number[]): number[] {
  return times.slice(1).map((time, n) => time - times[n]!);
}

describe('on a server', () => {
  test('that sends hints, no poll comes before the hint', async () => {
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
      // The fixture requests a second between polls. A push may shorten only the last wait.
      await tasks.callTool({ name: 'nap', arguments: { ms: 2_500 } });
    } finally {
      await tasks.close();
    }
    expect(looks.length).toBeGreaterThanOrEqual(3);
    for (const gap of gaps(looks).slice(0, -1)) expect(gap).toBeGreaterThan(990);
    expect(looks.length).toBeLessThanOrEqual((looks.at(-1)! - looks[0]!) / 1_000 + 3);
  });

  test('whose hint changes, the latest counts', async () => {
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
    // One timely poll is enough: a busy machine may delay any of them.
    expect(Math.min(second!, third!, fourth!)).toBeLessThan(1_490);
  });
});
