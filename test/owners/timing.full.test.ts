/**
 * How long an answer takes tells nothing either. Bob asks 2,000 times for tasks of Ada's and 2,000 times for tasks that
 * never were, by turns in random order, on one connection to a server in another process. By the Mann–Whitney test the
 * two sets of times must not differ with |z| of 5 or more. A busy machine may do that once: only what differs in each
 * of three rounds can be told apart.
 */
import { randomBytes } from 'node:crypto';
import { Agent, request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { idFrom } from '../../src/model/id.ts';
import { Peer } from '../dialects/revision-2025-11-25/peer.ts';
import { Place } from '../serving/place.ts';
import { RawClient, rawMessage } from '../serving/raw-client.ts';
import { type HttpProcess, serveFixture } from '../serving/server-process.ts';

const lookUps = 2_000;
const warmUps = 200;
const bound = 5;
const rounds = 3;

const place = new Place();
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
let server: HttpProcess;
let foreign: string[];
let own: string;
let session: Peer;

beforeAll(async () => {
  server = await serveFixture('--store', `sqlite:${place.database}`, '--drafts', '--tokens', 'a=ada,b=bob');
  const ada = new RawClient(server.url, { token: 'a' });
  const made = async (client: RawClient, tool: string, input: object, status: string) => {
    const { taskId } = (await client.call(tool, input)).result;
    await client.until(taskId, status);
    return taskId;
  };
  foreign = [
    await made(ada, 'ask_name', {}, 'input_required'),
    await made(ada, 'slow_compute', { seconds: 0 }, 'completed'),
    await made(ada, 'big', { bytes: 100_000 }, 'completed'),
    await made(ada, 'big', { bytes: 1_000_000 }, 'completed'),
    await made(ada, 'fan_out', { children: 20, depth: 1, delayMs: 0, ask: true }, 'input_required'),
  ];
  own = await made(new RawClient(server.url, { token: 'b' }), 'big', { bytes: 500_000 }, 'completed');
  session = new Peer(server.url, { token: 'b' });
  await session.open();
});

afterAll(async () => {
  agent.destroy();
  await server.kill();
});

const absent = () => Buffer.from(idFrom(randomBytes(20))).toString();

interface Asked {
  readonly headers: Record<string, string>;
  readonly body: object;
}

type Ask = (taskId: string) => Asked;

const subtasks = { 'io.modelcontextprotocol/tasks': {}, 'dev.holdfast/subtasks': {} };
const later =
  (method: string, params: object = {}, extensions?: object): Ask =>
  (taskId) => ({
    headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, 'mcp-name': taskId },
    body: rawMessage(
      method,
      { taskId, ...params },
      extensions ? { tasks: false, capabilities: { elicitation: {}, extensions } } : {},
    ),
  });
const inSession =
  (method: string, meta?: (taskId: string) => object): Ask =>
  (taskId) => ({
    headers: session.headers(),
    body: { jsonrpc: '2.0', id: 1, method, params: { taskId, ...(meta && { _meta: meta(taskId) }) } },
  });

/** In milliseconds, until the last byte of the answer. */
function timed({ headers, body }: Asked): Promise<number> {
  return new Promise((resolve, reject) => {
    const text = JSON.stringify(body);
    const start = performance.now();
    const sent = request(server.url, {
      method: 'POST',
      agent,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: 'Bearer b',
        ...headers,
      },
    });
    sent.on('error', reject);
    sent.on('response', (response) => {
      response.resume().on('end', () => resolve(performance.now() - start));
    });
    sent.end(text);
  });
}

/** How sure one can be after so many look-ups of either kind that they differ. */
async function difference(ask: Ask, theirs: readonly string[], turns = lookUps): Promise<number> {
  // Everything is made beforehand: what the client does between two requests would show in the next one.
  const requests = Array.from({ length: warmUps + turns }, (_, turn) => {
    const pair = [
      { isTheirs: true, asked: ask(theirs[turn % theirs.length]!) },
      { isTheirs: false, asked: ask(absent()) },
    ];
    return randomBytes(1)[0]! & 1 ? pair : pair.reverse();
  }).flat();
  const times: [number[], number[]] = [[], []];
  for (const [turn, { isTheirs, asked }] of requests.entries()) {
    const time = await timed(asked);
    if (turn >= 2 * warmUps) times[isTheirs ? 0 : 1].push(time);
  }
  return rankTest(...times);
}

test.each([
  ['tasks/get of 2026-07-28', later('tasks/get')],
  ['tasks/get with subtasks', later('tasks/get', {}, subtasks)],
  ['tasks/cancel of 2026-07-28', later('tasks/cancel')],
  ['tasks/update of 2026-07-28', later('tasks/update', { inputResponses: { name: { action: 'cancel' } } })],
  ['tasks/get of 2025-11-25', inSession('tasks/get')],
  [
    'tasks/get of SEP-1686',
    inSession('tasks/get', (taskId) => ({ 'modelcontextprotocol.io/related-task': { taskId } })),
  ],
])(
  'S2663-99: how long %s takes does not tell a task of another from none',
  { timeout: 120_000 },
  async (_, ask) => {
    const measured: number[] = [];
    while (measured.length < rounds && !measured.some((z) => Math.abs(z) < bound))
      measured.push(await difference(ask, foreign));
    expect(Math.min(...measured.map(Math.abs))).toBeLessThan(bound);
  },
);

test('the same look does tell a task of one’s own, with a result of 500 kB, from none', async () => {
  const z = await difference(later('tasks/get'), [own], 300);
  expect(Math.abs(z)).toBeGreaterThan(bound);
});

test('times that differ by a tenth of their spread are told apart, and those that do not are not', () => {
  const draw = (shift: number) =>
    Array.from({ length: lookUps }, (_, i) => ((i * 7919) % lookUps) / lookUps + shift);
  expect(Math.abs(rankTest(draw(0), draw(0)))).toBeLessThan(0.001);
  expect(rankTest(draw(0.1), draw(0))).toBeGreaterThan(bound);
  expect(rankTest(draw(0), draw(0.1))).toBeLessThan(-bound);
});

/**
 * How sure one can be that two sets of times differ: the Mann–Whitney test, which compares ranks and is moved neither
 * by outliers nor by the shape of what is measured. Of sets that do not differ, |z| is above 5 once in 1.7 million.
 */
function rankTest(left: readonly number[], right: readonly number[]): number {
  const all = [
    ...left.map((value) => ({ value, isLeft: true })),
    ...right.map((value) => ({ value, isLeft: false })),
  ];
  all.sort((a, b) => a.value - b.value);
  let rankSum = 0;
  for (let start = 0; start < all.length; ) {
    let end = start;
    while (end < all.length && all[end]!.value === all[start]!.value) end++;
    // Those that are equal share their ranks.
    const rank = (start + 1 + end) / 2;
    for (let i = start; i < end; i++) if (all[i]!.isLeft) rankSum += rank;
    start = end;
  }
  const [m, n] = [left.length, right.length];
  const u = rankSum - (m * (m + 1)) / 2;
  return (u - (m * n) / 2) / Math.sqrt((m * n * (m + n + 1)) / 12);
}
