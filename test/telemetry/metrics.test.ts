import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createTasks, durableTool } from '../../src/index.ts';
import { serveHttp } from '../../src/server.ts';
import { openSqlite, sqlite } from '../../src/sqlite.ts';
import { telemetry } from '../../src/telemetry.ts';
import { attached } from '../kit/attached.ts';
import { withCode } from '../kit/with-code.ts';
import { Place } from '../serving/place.ts';
import { accept } from '../serving/raw-client.ts';
import { type HttpProcess, serveProgram } from '../serving/server-process.ts';
import { Receiver } from './receiver.ts';
import type { TelemetryServerSettings } from './server.ts';

/** What Prometheus makes of the text: every sample by its name and labels. Throws if it is not the format 0.0.4. */
function parsed(text: string): Map<string, number> {
  expect(text.endsWith('\n')).toBe(true);
  const samples = new Map<string, number>();
  const types = new Map<string, string>();
  for (const line of text.slice(0, -1).split('\n')) {
    const [, name, type] = /^# TYPE ([a-z_]+) (counter|gauge|histogram)$/.exec(line) ?? [];
    if (name && type) types.set(name, type);
    if (line.startsWith('# ')) {
      expect(line).toMatch(/^# (HELP [a-z_]+ \S.*|TYPE [a-z_]+ (counter|gauge|histogram))$/);
      continue;
    }
    const sample = /^([a-z_]+)(\{[a-z_]+="[^"\n]*"(,[a-z_]+="[^"\n]*")*\})? (\d+(\.\d+)?(e-\d+)?)$/.exec(
      line,
    );
    expect(sample, line).not.toBeNull();
    const family = sample![1]!.replace(/_(bucket|sum|count)$/, '');
    expect(types.has(family) || types.has(sample![1]!), line).toBe(true);
    samples.set(`${sample![1]}${sample![2] ?? ''}`, Number(sample![4]));
  }
  return samples;
}

function serve(settings: TelemetryServerSettings): Promise<HttpProcess> {
  return serveProgram('telemetry/server.ts', JSON.stringify(settings));
}

async function metricsOf({ url }: { readonly url: string }): Promise<Map<string, number>> {
  const response = await fetch(new URL('/metrics', url));
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  return parsed(await response.text());
}

test('S1686-83, S2025-108: without any SDK Prometheus reads what happened, across a crash, and nothing is sent anywhere', async () => {
  const receiver = await Receiver.start();
  // Variables that an SDK would heed, if there were one.
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = new URL(receiver.url).origin;
  onTestFinished(() => void delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT);
  const file = new Place().database;
  const first = await serve({ file, stormy: true });
  const crossing = first.line();
  const { result } = await first.client().call('voyage', { cargo: 'peat' });
  await crossing;
  const before = await metricsOf(first);
  expect(before.get('holdfast_tasks_created_total{tool="voyage"}')).toBe(1);
  expect(before.get('holdfast_tasks_created_total{tool="leg"}')).toBe(1);
  expect(before.get('holdfast_tasks_running')).toBe(1);
  expect(before.get('holdfast_recoveries_total')).toBe(0);
  expect(before.get('holdfast_tasks_finished_total{tool="leg",outcome="result"}')).toBe(1);
  await first.kill();

  const second = await serve({ file });
  const client = second.client();
  const { taskId } = result;
  await client.until(taskId, 'input_required');
  const waiting = await metricsOf(second);
  expect(waiting.get('holdfast_tasks_waiting')).toBe(1);
  expect(waiting.get('holdfast_recoveries_total{tool="voyage"}')).toBe(1);
  expect(waiting.get('holdfast_retries_total{tool="voyage"}')).toBe(1);
  expect(waiting.get('holdfast_polls_total')).toBeGreaterThanOrEqual(1);
  await client.update(taskId, { land: accept({ at: 'the pier' }) });
  await client.until(taskId, 'completed');
  const { result: doomed } = await client.call('voyage', { cargo: 'peat' });
  await client.until(doomed.taskId, 'input_required');
  await client.cancel(doomed.taskId);
  const after = await metricsOf(second);
  expect(after.get('holdfast_tasks_waiting')).toBe(0);
  expect(after.get('holdfast_questions_answered_total{tool="voyage"}')).toBe(1);
  expect(after.get('holdfast_tasks_finished_total{tool="voyage",outcome="result"}')).toBe(1);
  expect(after.get('holdfast_cancels_total{tool="voyage"}')).toBe(1);
  const lived = 'tool="voyage",outcome="result"';
  expect(after.get(`holdfast_task_duration_seconds_count{${lived}}`)).toBe(1);
  expect(after.get(`holdfast_task_duration_seconds_bucket{${lived},le="+Inf"}`)).toBe(1);
  expect(after.get(`holdfast_task_duration_seconds_sum{${lived}}`)).toBeGreaterThan(0);
  // Neither tasks nor owners can be told from it.
  expect([...after.keys()].join('\n')).not.toContain(taskId);
  expect([...after.keys()].filter((key) => /owner|task=/.test(key))).toEqual([]);
  await second.kill('SIGTERM');
  expect(receiver.texts).toEqual([]);
});

test('the queue is counted without a worker, with the age of the oldest', async () => {
  const seen = telemetry();
  const tool = durableTool('idle', {}, async () => 'done');
  await using tasks = createTasks({ store: sqlite('memory:'), tools: [tool], telemetry: seen });
  await tasks.create(tool);
  await tasks.create(tool);
  await new Promise((resolve) => setTimeout(resolve, 20));
  const samples = parsed(await seen.metrics());
  expect(samples.get('holdfast_tasks_ready')).toBe(2);
  expect(samples.get('holdfast_tasks_oldest_ready_seconds')).toBeGreaterThan(0.01);
});

async function served(options: object = {}) {
  const database = await openSqlite('memory:');
  const tasks = createTasks({ store: database, tools: [], telemetry: telemetry() });
  const server = await serveHttp(tasks, attached(tasks), { port: 0, stopOn: [], ...options });
  onTestFinished(() => server.stop());
  const status = async (path: string, init?: RequestInit) =>
    (await fetch(new URL(path, server.url), init)).status;
  return { database, server, status };
}

test('a process says that it is alive and, as long as its store can be read, that it is ready', async () => {
  const { database, status } = await served({ health: true });
  expect(await status('/healthz')).toBe(200);
  expect(await status('/readyz?verbose')).toBe(200);
  expect(await status('/healthz', { method: 'POST' })).toBe(405);
  await database.close();
  expect(await status('/healthz')).toBe(200);
  expect(await status('/readyz')).toBe(503);
});

test('a process that stops is not ready any more, while it still answers', async () => {
  const { server } = await served({ health: true });
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  let heard = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    heard += text;
  });
  // The second request lacks only its last line when the first one is answered.
  socket.write('GET /readyz HTTP/1.1\r\nhost: localhost\r\n\r\nGET /readyz HTTP/1.1\r\nhost: localhost\r\n');
  await expect.poll(() => heard).toMatch(/^HTTP\/1\.1 200 /);
  const stopped = server.stop();
  socket.write('\r\n');
  await once(socket, 'close');
  expect(heard).toMatch(/HTTP\/1\.1 503 [\s\S]*stopping/);
  await stopped;
});

test('none of it is there unless it was asked for, and it can be reached only as the rest can', async () => {
  const { status } = await served();
  for (const path of ['/healthz', '/readyz', '/metrics']) expect(await status(path)).toBe(404);
  const open = await served({ health: true, metrics: '/numbers' });
  expect(await open.status('/numbers')).toBe(200);
  const rebound = request(new URL('/numbers', open.server.url), { headers: { host: 'evil.example' } });
  rebound.end();
  const [response] = await once(rebound, 'response');
  expect(response.statusCode).toBe(403);
  response.resume();
});

test('metrics that nobody counts cannot be served', async () => {
  await using tasks = createTasks({ store: sqlite('memory:') });
  await expect(serveHttp(tasks, attached(tasks), { port: 0, metrics: '/metrics' })).rejects.toThrow(
    withCode('TELEMETRY_MISSING'),
  );
});
