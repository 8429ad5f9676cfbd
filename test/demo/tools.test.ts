import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTasks, type InputResponse } from 'holdfast';
import { openSqlite } from 'holdfast/sqlite';
import { expect, test } from 'vitest';
import { writeSample } from '../../src/cli/demo/sample.ts';
import { demoTools } from '../../src/cli/demo/tools.ts';
import { temporaryFolder } from '../kit/lifetime.ts';

/** The demo's tools in a temporary folder. */
async function demo() {
  const here = temporaryFolder();
  const data = join(here, '.holdfast');
  const sample = join(data, 'sample');
  await writeSample(sample);
  const tools = demoTools({ here, data, sample });
  const run = async (name: string, input: object, answers: Record<string, InputResponse> = {}) => {
    await using tasks = createTasks({ store: () => openSqlite('memory:'), tools });
    await tasks.subscribe(({ taskId, events }) => {
      if (events.some(({ type }) => type === 'asked')) void tasks.answer(taskId, answers);
    });
    await tasks.work();
    const { id } = await tasks.create(name, input);
    const outcome = await tasks.outcome(id);
    if (outcome.kind !== 'result') throw new Error(`It ended as ${JSON.stringify(outcome)}.`);
    const { content } = outcome.value as { content: { text: string }[] };
    return { text: content[0]!.text, isError: outcome.isError };
  };
  return { here, data, run };
}

test('run_tests runs every test file and summarizes the results', async () => {
  const { run } = await demo();
  expect(await run('run_tests', {})).toEqual({
    text: '6 passed, 1 failed in 3 files.\n  .holdfast/sample/leap-years.test.js: 1900 was not a leap year',
    isError: false,
  });
});

test('run_tests reports files that do not run, and does not treat names as patterns', async () => {
  const { here, run } = await demo();
  mkdirSync(join(here, 'tests/node_modules'), { recursive: true });
  writeFileSync(join(here, 'tests/node_modules/not-ours.test.js'), 'throw 1');
  writeFileSync(
    join(here, 'tests/[id].test.mjs'),
    `import { test } from 'node:test'; test('fine', () => {});`,
  );
  writeFileSync(join(here, 'tests/broken.test.mjs'), 'this is no JavaScript');
  const { text } = await run('run_tests', { folder: 'tests' });
  expect(text).toMatch(
    /^1 passed, 1 failed in 2 files\.\n {2}tests\/broken\.test\.mjs: .*broken\.test\.mjs$/,
  );
});

test('report_on_folder counts in subtasks and writes the report after approval', async () => {
  const { here, data, run } = await demo();
  mkdirSync(join(here, 'texts'));
  writeFileSync(join(here, 'texts/one.txt'), 'one two\nthree\n');
  writeFileSync(join(here, 'texts/picture.bin'), Buffer.from([1, 0, 2]));
  const answers = { approval: { action: 'accept', content: { write: true } } };
  const { text } = await run('report_on_folder', { folder: 'texts' }, answers);
  expect(text).toBe('Wrote .holdfast/REPORT.md: 2 files, 2 lines, 3 words.');
  const report = readFileSync(join(data, 'REPORT.md'), 'utf8');
  expect(report).toContain('| texts/one.txt | 2 | 3 |\n| texts/picture.bin | not text | |\n');
});

test('count reports a single process', async () => {
  const { run } = await demo();
  expect((await run('count', { to: 5, everyMs: 0 })).text).toBe('Counted to 5 in one process.');
});

test.each(['..', '/etc', '../elsewhere', 'way-out', 'way-out/..'])(
  '%s is outside, and refused',
  async (folder) => {
    const { here, run } = await demo();
    symlinkSync('/etc', join(here, 'way-out'));
    for (const tool of ['run_tests', 'report_on_folder']) {
      const { text, isError } = await run(tool, { folder });
      expect(isError).toBe(folder !== 'way-out/..');
      if (isError) expect(text).toContain(`"${folder}" is outside ${here}`);
    }
    expect((await run('count_words', { file: join(folder, 'passwd') })).isError).toBe(true);
  },
);
