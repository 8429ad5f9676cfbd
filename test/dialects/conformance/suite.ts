/** The official conformance suite, as the program that it is: what it can run, and what it says of a server. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Program } from '../../kit/process.ts';

const require = createRequire(import.meta.url);
const manifest = require.resolve('@modelcontextprotocol/conformance/package.json');
export const { version: suiteVersion, bin } = require(manifest);
const longestMs = 120_000;

/**
 * All that is left of a run, with the files in which it wrote down its checks, by scenario. Its exit code alone says
 * nothing: a run that checks nothing ends with 0 too.
 */
export type Recording = Awaited<ReturnType<typeof record>>;

export async function serverScenarios() {
  const { output } = await run('list', '--server');
  return [...output.matchAll(/^ *- (\S+) \[(\S+)\]$/gm)].map(([, name, revisions]) => ({
    name: name!,
    revisions: revisions!.split(','),
  }));
}

/** Runs what the options select: `--scenario NAME`, or `--suite all` and a revision. */
export async function record(url: string, ...options: readonly string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-conformance-'));
  try {
    const said = await run('server', '--url', url, '--output-dir', folder, ...options);
    return { ...said, checks: await checksIn(folder) };
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Each scenario has a folder of its own, named after it and the moment; one that was skipped leaves it empty. */
async function checksIn(folder: string): Promise<Map<string, string>> {
  const checks = new Map<string, string>();
  for (const name of await readdir(folder)) {
    const [, scenario] = /^server-(.+)-\d{4}-\d{2}-\d{2}T[\d-]+Z$/.exec(name) ?? [];
    const files = await readdir(join(folder, name));
    if (scenario === undefined || !files.includes('checks.json')) continue;
    checks.set(scenario, await readFile(join(folder, name, 'checks.json'), 'utf8'));
  }
  return checks;
}

async function run(...args: readonly string[]): Promise<{ code: number | null; output: string }> {
  const command = [process.execPath, join(dirname(manifest), bin.conformance), ...args];
  const suite = new Program(command, { timeout: longestMs, killSignal: 'SIGKILL' });
  suite.child.stdin!.end();
  const { code } = await suite.exit;
  return { code, output: suite.output + suite.complaints };
}
