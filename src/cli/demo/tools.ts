/** The durable tools of the demo. Each works without outside services and can be interrupted. */

import { execFile } from 'node:child_process';
import { readdir, readFile, realpath, stat, writeFile } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { fromJsonSchema } from '@modelcontextprotocol/server';
import type { TaskContext } from '../../engine/handlers/context.ts';
import { type DurableTool, durableTool } from '../../engine/handlers/tool.ts';
import { CannotBeAsked, TerminalError } from '../../engine/replay/recorded-error.ts';
import { pause } from '../../runtime/runtime.ts';

export interface Places {
  /** The folder that the demo was started in. */
  readonly here: string;
  /** The folder of the store and of REPORT.md. */
  readonly data: string;
  /** The folder of the sample project, inside `data`. */
  readonly sample: string;
}

export function demoTools(places: Places): readonly DurableTool[] {
  const countWords = countWordsIn(places);
  return [count, runTests(places), reportOnFolder(places, countWords), countWords] as readonly DurableTool[];
}

/** The poll interval for clients: short, so that progress looks smooth in a terminal. */
const poll = '250ms';

const count = durableTool(
  'count',
  {
    description: 'Counts slowly and reports which processes took part: kill the server in the middle.',
    annotations: { readOnlyHint: true },
    task: 'always',
    inputSchema: fromJsonSchema<{ to?: number; everyMs?: number }>({
      type: 'object',
      properties: {
        to: { type: 'integer', minimum: 1, maximum: 3_600, default: 30 },
        everyMs: { type: 'integer', minimum: 0, maximum: 60_000, default: 500 },
      },
      additionalProperties: false,
    }),
  },
  async ({ to = 30, everyMs = 500 }, task) => {
    task.setPollInterval(poll);
    /** Ranges of numbers that were counted in the same process. */
    const parts: { readonly from: number; until: number; readonly pid: number }[] = [];
    for (let n = 1; n <= to; n++) {
      const pid = await task.step(`${n}`, async ({ signal }) => {
        await pause(everyMs, signal);
        return process.pid;
      });
      const last = parts.at(-1);
      if (last?.pid === pid) last.until = n;
      else parts.push({ from: n, until: n, pid });
      task.progress(n, to);
    }
    if (parts.length === 1) return `Counted to ${to} in one process.`;
    const ranges = parts.map(({ from, until, pid }) => `${from} to ${until} in process ${pid}`);
    return `Counted to ${to} in ${new Set(parts.map(({ pid }) => pid)).size} processes: ${ranges.join(', ')}.`;
  },
);

const folderInput = fromJsonSchema<{ folder?: string }>({
  type: 'object',
  properties: {
    folder: {
      type: 'string',
      description: 'A folder below the one that the demo was started in. Default: a small sample project.',
    },
  },
  additionalProperties: false,
});

const runTests = ({ here, sample }: Places) =>
  durableTool(
    'run_tests',
    {
      description: "Runs each test file in a folder with Node's test runner, and summarizes the results.",
      task: 'always',
      inputSchema: folderInput,
    },
    async ({ folder = sample }, task) => {
      task.setPollInterval(poll);
      const files = await task.step('find files', async () => {
        const path = await resolvePath(folder, here, sample);
        return (await filesIn(path)).filter((file) => /\.test\.[cm]?[jt]s$/.test(file));
      });
      if (files.length === 0)
        return `There are no tests in "${folder}": the names of test files end in .test.js or .test.ts.`;
      const ran: { file: string; tests: TestsOfFile }[] = [];
      for (const path of files) {
        const file = relative(here, path);
        const tests = await task.step(file, ({ signal }) => runTestFile(path, signal));
        ran.push({ file, tests });
        task.progress(ran.length, files.length, `${file}: ${tests.passed} passed, ${tests.failed} failed`);
      }
      return summary(ran);
    },
  );

function summary(ran: readonly { file: string; tests: TestsOfFile }[]): string {
  const passed = sum(ran.map(({ tests }) => tests.passed));
  const failed = sum(ran.map(({ tests }) => tests.failed));
  const failures = ran.flatMap(({ file, tests }) => tests.failures.map((failure) => `  ${file}: ${failure}`));
  return [`${passed} passed, ${failed} failed in ${plural(ran.length, 'file')}.`, ...failures].join('\n');
}

interface Counts {
  readonly lines: number;
  readonly words: number;
}

/** In bytes. */
const maxFileSize = 10 * 2 ** 20;

const countWordsIn = ({ here, sample }: Places) =>
  durableTool(
    'count_words',
    {
      description: 'Counts the lines and words of one file.',
      annotations: { readOnlyHint: true },
      inputSchema: fromJsonSchema<{ file: string }>({
        type: 'object',
        properties: {
          file: { type: 'string', description: 'A file below the folder that the demo was started in.' },
        },
        required: ['file'],
        additionalProperties: false,
      }),
      outputSchema: fromJsonSchema<Counts>({
        type: 'object',
        properties: { lines: { type: 'integer' }, words: { type: 'integer' } },
        required: ['lines', 'words'],
      }),
    },
    ({ file }, task) =>
      task.step('count', async () => {
        const path = await resolvePath(file, here, sample);
        const { size } = await stat(path);
        if (size > maxFileSize) throw new TerminalError(`"${file}" is larger than 10 MiB.`);
        const bytes = await readFile(path);
        if (bytes.includes(0)) throw new TerminalError(`"${file}" is not a text file.`);
        const text = bytes.toString();
        return { lines: text.match(/\n/g)?.length ?? 0, words: text.match(/\S+/g)?.length ?? 0 };
      }),
  );

const reportOnFolder = ({ here, data, sample }: Places, countWords: ReturnType<typeof countWordsIn>) =>
  durableTool(
    'report_on_folder',
    {
      description:
        'Counts the lines and words of every file in a folder, one subtask per file, and writes REPORT.md after approval.',
      task: 'always',
      inputSchema: folderInput,
    },
    async ({ folder = sample }, task) => {
      task.setPollInterval(poll);
      const files = await task.step('find files', async () =>
        (await filesIn(await resolvePath(folder, here, sample))).map((path) => relative(here, path)),
      );
      if (files.length === 0) return `There are no files in "${folder}".`;
      const subtasks = await Promise.all(files.map((file) => task.start(countWords, { file })));
      const counted: { file: string; counts: Counts | undefined }[] = [];
      for (const [index, subtask] of subtasks.entries()) {
        // Undefined if the file could not be counted, for example because it is not a text file.
        const { structuredContent } = await subtask.result();
        counted.push({ file: files[index]!, counts: structuredContent });
        task.progress(counted.length, files.length, files[index]);
      }
      const sums = `${plural(files.length, 'file')}, ${plural(sum(counted.map(({ counts }) => counts?.lines ?? 0)), 'line')}, ${plural(sum(counted.map(({ counts }) => counts?.words ?? 0)), 'word')}`;
      const report = reportOf(sums, counted);
      const file = join(data, 'REPORT.md');
      const shown = relative(here, file);
      const verdict = await approval(task, `Write ${shown} about ${sums}?`);
      if (verdict === 'no') return `Not written: ${sums}.`;
      if (verdict === 'cannot be asked')
        return `Not written, because this client cannot answer questions.\n\n${report}`;
      await task.step('write', () => writeFile(file, report));
      return `Wrote ${shown}: ${sums}.`;
    },
  );

const yesOrNo = fromJsonSchema<{ write: boolean }>({
  type: 'object',
  properties: { write: { type: 'boolean', title: 'Write it' } },
  required: ['write'],
});

async function approval(task: TaskContext, message: string): Promise<'yes' | 'no' | 'cannot be asked'> {
  try {
    const answer = await task.ask('approval', { message, schema: yesOrNo });
    return answer.action === 'accept' && answer.content.write ? 'yes' : 'no';
  } catch (error) {
    if (error instanceof CannotBeAsked) return 'cannot be asked';
    throw error;
  }
}

function reportOf(sums: string, counted: readonly { file: string; counts: Counts | undefined }[]): string {
  const rows = counted.map(({ file, counts }) =>
    counts ? `| ${file} | ${counts.lines} | ${counts.words} |` : `| ${file} | not text | |`,
  );
  const head = ['# Report', '', `${sums}.`, '', '| file | lines | words |', '|---|---:|---:|'];
  return [...head, ...rows, ''].join('\n');
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}

function plural(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? '' : 's'}`;
}

/** A folder with more files is refused. */
const maxFiles = 500;

/** Resolves a path and its links. Refuses paths outside the allowed folders. */
async function resolvePath(name: string, here: string, sample: string): Promise<string> {
  const refused = new TerminalError(
    `"${name}" is outside ${here}: the demo only reads files in the folder that it was started in.`,
  );
  const allowed = [here, sample];
  const requested = resolve(here, name);
  if (!allowed.some((folder) => contains(folder, requested))) throw refused;
  const path = await realpath(requested).catch(() => {
    throw new TerminalError(`There is no "${name}" in ${here}.`);
  });
  const real = await Promise.all(allowed.map((folder) => realpath(folder)));
  if (!real.some((folder) => contains(folder, path))) throw refused;
  return path;
}

/** True if the path is the folder or inside it. */
function contains(folder: string, path: string): boolean {
  const route = relative(folder, path);
  return route !== '..' && !route.startsWith(`..${sep}`) && !isAbsolute(route);
}

/** Lists the files below a folder in a stable order, without links, hidden files and installed packages. */
async function filesIn(folder: string): Promise<string[]> {
  const found: string[] = [];
  const walk = async (path: string): Promise<void> => {
    const entries = await readdir(path, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
      throw new TerminalError(
        error.code === 'ENOTDIR'
          ? `"${path}" is not a folder.`
          : `Could not read "${path}" (${error.message}).`,
      );
    });
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
      if (entry.isDirectory()) await walk(join(path, entry.name));
      else if (entry.isFile()) found.push(join(path, entry.name));
      if (found.length > maxFiles)
        throw new TerminalError(
          `There are more than ${maxFiles} files in "${folder}": choose a smaller one.`,
        );
    }
  };
  await walk(folder);
  return found;
}

interface TestsOfFile {
  readonly passed: number;
  readonly failed: number;
  /** The names of failed tests, or why the file did not run. */
  readonly failures: readonly string[];
}

const testTimeoutMs = 120_000;

/** Runs one test file in a process. Resolves with one failure if it could not run or timed out. */
function runTestFile(file: string, signal: AbortSignal): Promise<TestsOfFile> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env; // With it the runner would report to an outer runner.
  // The runner treats file names as glob patterns.
  const args = ['--test', '--test-reporter=tap', file.replace(/[[*?{(]/g, '[$&]')];
  const options = { cwd: dirname(file), env, signal, timeout: testTimeoutMs, maxBuffer: 64 * 2 ** 20 };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, options, (error, output) => {
      if (signal.aborted) return reject(signal.reason);
      const passed = countOf('pass', output);
      const failed = countOf('fail', output);
      if (passed !== undefined && failed !== undefined)
        return resolve({ passed, failed, failures: failuresOf(output) });
      const problem = error?.killed ? `timed out after ${testTimeoutMs / 1_000} s` : 'could not run';
      resolve({ passed: 0, failed: 1, failures: [problem] });
    });
  });
}

/** Reads a total from the runner's summary: `# pass 3`. Undefined if there is none. */
function countOf(what: string, tap: string): number | undefined {
  const [, count] = new RegExp(`^# ${what} (\\d+)$`, 'm').exec(tap) ?? [];
  return count === undefined ? undefined : Number(count);
}

/** The names of the first ten failed tests. */
function failuresOf(tap: string): string[] {
  return [...tap.matchAll(/^\s*not ok \d+ - (.*)$/gm)].map(([, name]) => name!).slice(0, 10);
}
