import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { edges, Receiver } from './receiver.ts';

const example = join(import.meta.dirname, '../../examples/operating/operating.ts');

test('operating: the example of the guide is traced, counted, logged and ready', async () => {
  const receiver = await Receiver.start();
  const { stdout } = await promisify(execFile)(process.execPath, ['--conditions=holdfast-source', example], {
    env: { ...process.env, OTEL_EXPORTER_OTLP_ENDPOINT: new URL(receiver.url).origin },
  });
  expect(stdout).toContain('holdfast_tasks_finished_total{tool="greet",outcome="result"} 1\n');
  expect(stdout).toContain('ready: ok\n');
  const events = stdout.split('\n').flatMap((line) => (line.startsWith('{') ? JSON.parse(line).event : []));
  expect(events).toEqual(['created', 'finished', 'removed']);
  expect(edges(receiver.spans, '00f067aa0ba902b7')).toEqual([
    'pass below task greet',
    'step greet below task greet',
    'task greet below the caller',
  ]);
});
