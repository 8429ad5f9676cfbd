/** What users get: the packed package, installed into an empty folder, as TypeScript, Node and an old Node see it. */
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isOlder, oldestNode } from '../src/check-node.ts';

const root = join(import.meta.dirname, '..');
const { version, exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const modules = Object.keys(exports)
  .filter((entry) => entry !== './package.json')
  .map((entry) => entry.replace('.', 'holdfast'));

const folder = mkdtempSync(join(tmpdir(), 'holdfast-package-'));
const consumer = join(folder, 'consumer');
/** A project that runs tasks and has no package of the SDK. */
const engineOnly = join(folder, 'engine-only');
const installed = join(consumer, 'node_modules/holdfast');
const command = join(consumer, 'node_modules/.bin/holdfast');

beforeAll(() => {
  npm(copyOfRepository(), 'pack', '--pack-destination', folder);
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const sdk = ['client', 'server'].map((part) => `@modelcontextprotocol/${part}`);
  installInto(consumer, ...sdk.map((name) => `${name}@${devDependencies[name]}`));
  installInto(engineOnly);
});

function installInto(project: string, ...others: string[]): void {
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{ "type": "module", "private": true }');
  npm(project, 'install', '--prefer-offline', join(folder, `holdfast-${version}.tgz`), ...others);
}

/** Packing empties the folders of the dashboard and of the build for a moment, and other tests use them. */
function copyOfRepository(): string {
  const copy = join(folder, 'repository');
  const isLeftOut = /\/(node_modules|dist|\.git|\.holdfast|test|bench|sim)$/;
  cpSync(root, copy, { recursive: true, filter: (path) => !isLeftOut.test(path.slice(root.length)) });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('the package holds the launcher, JavaScript with declarations, and papers; no tests, no sources', () => {
  const welcome = [
    /^(package\.json|README\.md|LICENSE|CHANGELOG\.md)$/,
    /^bin\/holdfast\.js$/,
    /^dist\/(?!.*\.test).*\.(js|d\.ts)$/,
    /^dashboard\/dist\/(index\.html|icon\.svg|assets\/[\w.-]+\.(js|css))$/,
  ];
  const files = readdirSync(installed, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(installed.length + 1));
  expect(files.filter((file) => !welcome.some((form) => form.test(file)))).toEqual([]);
});

test('every file that an entry names is in the package', () => {
  const named = Object.values<object | string>(exports).flatMap((entry) => {
    if (typeof entry === 'string') return entry;
    // The condition `holdfast-source` is for the repository's own examples, which run without a build.
    return Object.entries(entry).flatMap(([condition, file]) =>
      condition === 'holdfast-source' ? [] : [file],
    );
  });
  expect(named).toContain('./dist/sqlite.d.ts');
  expect(named.filter((file) => !existsSync(join(installed, file)))).toEqual([]);
});

test.each(['node16', 'nodenext', 'bundler'])(
  'every entry has its types under moduleResolution %s',
  (resolution) => {
    const program = modules.map((name, n) => `import * as entry${n} from '${name}';\nexport { entry${n} };`);
    program.push(
      `import type { Duration, Task } from 'holdfast';`,
      `import { openSqlite } from 'holdfast/sqlite';`,
      `import { ManualClock } from 'holdfast/testing';`,
      `export const patience: Duration = '30s';`,
      `export const now: number = new ManualClock().now();`,
      `export const phaseOf = (task: Task): 'queued' | 'running' | 'waiting' | 'done' => task.phase;`,
      '// @ts-expect-error what has types takes no number for the name of a file',
      'openSqlite(1);',
    );
    writeFileSync(join(consumer, 'program.ts'), program.join('\n'));
    expectToCompile(
      consumer,
      { ...moduleOptions(resolution), ...ownTypes, skipLibCheck: false, noEmit: true },
      ['program.ts'],
    );
  },
);

/** As the projects of users are: `strict`, and none of the flags with which the repository checks itself. */
test.each(['nodenext', 'bundler'])(
  'the examples, and so the snippets of the docs, compile with plain strict under moduleResolution %s',
  (resolution) => {
    const examples = join(consumer, 'examples');
    cpSync(join(root, 'examples'), examples, { recursive: true });
    linkWhatIsMissing('node_modules');
    expectToCompile(
      consumer,
      {
        ...moduleOptions(resolution),
        types: ['node'],
        skipLibCheck: true,
        noEmit: true,
        allowImportingTsExtensions: true,
      },
      ['examples'],
    );
  },
);

test('a project without the SDK compiles and runs tasks: root, stores and tests need none of its packages', () => {
  expect(existsSync(join(engineOnly, 'node_modules/@modelcontextprotocol'))).toBe(false);
  const program = `
    import { createTasks, durableTool } from 'holdfast';
    import { sqlite } from 'holdfast/sqlite';
    import type { Store } from 'holdfast/store';
    import { testStore } from 'holdfast/store/testing';
    import { telemetry } from 'holdfast/telemetry';
    import { runTool } from 'holdfast/testing';
    export type { Store };
    export { runTool, telemetry, testStore };
    const hello = durableTool('hello', {}, async (_input, task) => task.step('greet', () => 'hello'));
    const tasks = createTasks({ store: sqlite('memory:'), tools: [hello] });
    await tasks.work();
    const { id } = await tasks.create(hello);
    console.log((await tasks.outcome(id)).kind);
    await tasks.close();`;
  writeFileSync(join(engineOnly, 'program.ts'), program);
  expectToCompile(engineOnly, { ...moduleOptions('nodenext'), ...ownTypes, skipLibCheck: false }, [
    'program.ts',
  ]);
  const { status, stdout } = run(process.execPath, ['program.js'], engineOnly);
  expect({ status, stdout }).toEqual({ status: 0, stdout: 'result\n' });
});

test('a command that needs the SDK names the packages to install', () => {
  const holdfast = join(engineOnly, 'node_modules/.bin/holdfast');
  const { status, stderr } = run(holdfast, ['serve', '--', 'true'], engineOnly);
  const packages = '@modelcontextprotocol/server @modelcontextprotocol/client';
  expect(stderr).toMatch(/^holdfast: holdfast serve needs @modelcontextprotocol\/\w+: npm install /);
  expect(stderr).toContain(packages);
  expect(status).toBe(1);
});

test('declarations show no internals', () => {
  const shown = ['server/tasks', 'engine/tasks', 'engine/worker/worker'].map((file) =>
    readFileSync(join(installed, `dist/${file}.d.ts`), 'utf8'),
  );
  expect(shown.join('')).not.toMatch(/\b(taskServer|recorder|engineLimits|reserve|served|opened)\b/);
});

test.each(modules)('%s can be imported', (name) => {
  expect(importOn(process.execPath, name)).toEqual({ status: 0, stdout: 'imported\n', stderr: '' });
});

test('the installed command says its version', () => {
  expect(run(command, ['--version'])).toEqual({ status: 0, stdout: `${version}\n`, stderr: '' });
});

const refusal = new RegExp(
  `^Holdfast needs Node ${oldestNode} or later and this is Node [\\d.]+: install a newer one from \\S+ and try again\\.\n$`,
);

test('on an old Node the command says in one sentence what to do and exits with 1', () => {
  const { status, stdout, stderr } = run(oldNode(), [command, '--version']);
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toMatch(refusal);
});

test.each(modules)(
  'on an old Node the import of %s throws the same sentence',
  (name) => {
    const { status, stdout } = importOn(oldNode(), name);
    expect(status).toBe(0);
    expect(stdout).toMatch(refusal);
  },
  120_000,
);

/** Gives the consumer the packages that examples need besides Holdfast. */
function linkWhatIsMissing(folder: string): void {
  for (const name of readdirSync(join(root, folder))) {
    const path = join(folder, name);
    if (!existsSync(join(consumer, path))) symlinkSync(join(root, path), join(consumer, path));
    else if (name.startsWith('@')) linkWhatIsMissing(path);
  }
}

/** The types of Node for a project in a folder of its own. */
const ownTypes = { types: ['node'], typeRoots: [join(root, 'node_modules/@types')] };

function moduleOptions(resolution: string) {
  return { module: resolution === 'bundler' ? 'preserve' : resolution, moduleResolution: resolution };
}

function expectToCompile(project: string, options: object, include: readonly string[]): void {
  const compilerOptions = {
    target: 'es2024',
    lib: ['es2024', 'esnext.disposable'],
    strict: true,
    ...options,
  };
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, include }));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const compiled = run(process.execPath, [tsc, '--project', project]);
  expect(compiled).toEqual({ status: 0, stdout: '', stderr: '' });
}

// --- Running things ---------------------------------------------------------------------------------------

/** Imports a module in a process of its own and prints `imported`, or the message of what it throws. */
function importOn(node: string, name: string) {
  const script = `import('${name}').then(() => 'imported', (error) => error.message).then(console.log)`;
  return run(node, ['--input-type=module', '--eval', script]);
}

function npm(cwd: string, ...args: string[]): void {
  const { status, stdout, stderr } = run('npm', args, cwd);
  if (status !== 0) throw new Error(`npm ${args.join(' ')} failed:\n${stdout}${stderr}`);
}

/** Runs a program to its end; `node` stands for the pinned one. */
function run(program: string, args: string[], cwd = consumer) {
  const env = { ...process.env, PATH: [dirname(process.execPath), process.env.PATH].join(delimiter) };
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, env, encoding: 'utf8' });
  if (error) throw error;
  return { status, stdout, stderr };
}

let found: string | undefined;

/** A Node that is too old for Holdfast: this machine's own, or one from the registry. */
function oldNode(): string {
  found ??= (process.env.PATH ?? '')
    .split(delimiter)
    .map((place) => join(place, 'node'))
    .filter((node) => existsSync(node))
    .find((node) => {
      const [, nodeVersion] = /^v([\d.]+)/.exec(run(node, ['--version']).stdout) ?? [];
      return nodeVersion !== undefined && isOlder(nodeVersion, oldestNode);
    });
  found ??= installOldNode();
  return found;
}

function installOldNode(): string {
  const place = join(folder, 'old-node');
  mkdirSync(place);
  writeFileSync(join(place, 'package.json'), '{ "private": true, "allowScripts": { "node": true } }');
  npm(place, 'install', 'node@20');
  return join(place, 'node_modules/node/bin/node');
}
