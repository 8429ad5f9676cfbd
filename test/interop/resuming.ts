/** A task outlives the client that started it, and the server that it was started on. */
import { deepEqual, equal, ok } from 'node:assert/strict';
import { join } from 'node:path';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { until } from '../chaos/until.ts';
import type { InteropCase } from './case.ts';
import { linesOf } from './file.ts';
import { type ClientProcess, spawnClient } from './spawn-client.ts';
import { connectTasksClient, revision } from './tasks-client.ts';

const program = join(import.meta.dirname, 'client-process.ts');

function start(url: URL, tool: string, input: object): ClientProcess {
  return spawnClient(program, url.href, revision, 'start', tool, JSON.stringify(input));
}

interface Result {
  readonly content: unknown;
  readonly structuredContent?: { readonly steps: number; readonly passes: number };
}

async function resume(url: URL, reference: string): Promise<Result> {
  const { line, gone } = spawnClient(program, url.href, revision, 'resume', reference);
  await gone;
  return JSON.parse(await line);
}

async function isAsked(url: URL, taskId: string): Promise<void> {
  await using client = await connectTasksClient(new StreamableHTTPClientTransport(url));
  const news = await client.listen(taskId);
  await news.of('input_required');
}

export const resuming: readonly InteropCase[] = [
  {
    title: 'ext-tasks in a second process: a running task is resumed by its reference',
    async run({ url }) {
      const first = start(url, 'slow_compute', { seconds: 1, label: 'tides' });
      await first.gone;
      deepEqual((await resume(url, await first.line)).content, [{ type: 'text', text: 'done tides' }]);
    },
  },
  {
    title: 'ext-tasks in a second process: a task goes on after its server was killed in the middle',
    async run(world) {
      const folder = await world.folder();
      const [store, file] = [`sqlite:${join(folder, 'tasks.db')}`, join(folder, 'ledger')];
      const steps = 20;
      await using first = await world.fixture({ store });
      const starter = start(first.url, 'ledger', { file, steps, delayMs: 100 });
      const reference = await starter.line;
      await until(() => linesOf(file).length >= 2);
      await first.kill();
      await starter.gone;
      const written = linesOf(file).length;
      ok(written < steps, 'The server was killed too late.');

      await using second = await world.fixture({ store });
      const { content, structuredContent } = await resume(second.url, reference);
      deepEqual(content, [{ type: 'text', text: `done ${steps}` }]);
      deepEqual(structuredContent, { steps, passes: 2 });
      const numbers = linesOf(file).map((line) => Number(line.split(' ')[0]));
      // The step that was under way is done again, and no other.
      const repeated = numbers.filter((number, index) => numbers.indexOf(number) < index);
      ok(repeated.length === 0 || repeated.join() === String(written), `Repeated: ${repeated}`);
      equal(new Set(numbers).size, steps);
    },
  },
  {
    title:
      'ext-tasks in a second process: a question that was asked before the server was killed is answered',
    async run(world) {
      const store = `sqlite:${join(await world.folder(), 'tasks.db')}`;
      await using first = await world.fixture({ store });
      const starter = start(first.url, 'confirm_delete', { filename: 'notes.txt' });
      await starter.gone;
      const reference = await starter.line;
      await isAsked(first.url, JSON.parse(reference).taskId);
      await first.kill();
      await using second = await world.fixture({ store });
      deepEqual((await resume(second.url, reference)).content, [{ type: 'text', text: 'deleted notes.txt' }]);
    },
  },
];
