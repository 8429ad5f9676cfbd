/** `holdfast worker`: a process that runs the tasks of gateways on the same store. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { configIn } from '../../src/gateway/config/config.ts';
import { parseConfig } from '../../src/gateway/config/config-file.ts';
import { Gateway } from '../../src/gateway/gateway-server.ts';
import { sqlite } from '../../src/sqlite.ts';
import { temporaryFolder } from '../kit/lifetime.ts';
import { until } from '../kit/until.ts';
import { holdfast, workerProcess } from './processes.ts';
import { notes } from './stage.ts';

function run(...words: string[]) {
  const [command, ...args] = holdfast(...words);
  return spawnSync(command!, args);
}

test('a worker continues the work of a killed one', async () => {
  const place = temporaryFolder();
  const { file, lines } = notes();
  const slow = 'echo begun >> "$0"; test "$(wc -l < "$0")" -gt 1 || sleep 60; echo done >> "$0"';
  const config = {
    commands: { slow: { command: 'sh', args: ['-c', slow, file], idempotent: true } },
  };
  // A gateway that only creates tasks.
  await using gateway = new Gateway({
    config: configIn(parseConfig(JSON.stringify(config), 'holdfast.json')),
    version: '0',
    store: sqlite(join(place, 'tasks.db')),
  });
  const { id } = await gateway.tasks.create('slow', {});
  const first = await workerProcess(config, place).start();
  await until(() => lines().includes('begun'));
  await first.kill();
  await using second = workerProcess(config, place);
  await second.start();
  const outcome = await gateway.tasks.outcome(id);
  expect(outcome).toMatchObject({ kind: 'result', value: { structuredContent: { exitCode: 0 } } });
  expect(lines()).toEqual(['begun', 'begun', 'done']);
  expect(await second.kill('SIGTERM')).toBe(0);
});

test.each([
  [[], 'worker needs --store URL'],
  [['--store', 'memory:'], 'memory: stores are private to one process'],
  [['--store', 'redis://x'], '"redis://x" is not a store URL'],
  [['--store', 'sqlite:x', '--concurrency', 'many'], '--concurrency must be a whole number'],
])('wrong usage is told in a sentence: %j', (words, sentence) => {
  const place = temporaryFolder();
  const config = ['--config', join(place, 'holdfast.json')];
  workerProcess({ commands: {} }, place);
  const { status, stderr } = run('worker', ...config, ...words);
  expect(status).toBe(2);
  expect(String(stderr)).toContain(sentence);
});

test('a missing store is not created', () => {
  const place = temporaryFolder();
  workerProcess({ commands: {} }, place);
  const words = ['worker', '--config', join(place, 'holdfast.json'), '--store', `sqlite:${place}/none.db`];
  const { status, stderr } = run(...words);
  expect(status).toBe(1);
  expect(String(stderr)).toContain('There is no store at');
});
