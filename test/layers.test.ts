import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { parseSync, Visitor } from 'vite';
import { expect, test } from 'vitest';

/**
 * The architecture, from the bottom up. Each row is a folder or a file of src/ and everything that it may import besides
 * itself: rows above it, npm packages, Node's own modules. A file belongs to the first row that fits. A file without a
 * row may not be in src/. A row that needs more is a decision: it changes in the same commit as the code.
 */
const architecture = `
  layer               | may import

  runtime/watchdog    | runtime, node:*
  runtime             |
  model               | runtime
  ports               | model
  dialects            | model, zod, ext-tasks schemas, eventsource-parser
  remote-tasks        | runtime, model, dialects
  security            | runtime, model, node:*, jose, SDK server

  engine/rules        | model, ports
  engine/replay       | runtime, model, ports, engine/rules, node:async_hooks
  engine/handlers     | model, engine/rules, engine/replay
  engine/database     | runtime, model, ports, engine/rules
  engine/worker       | runtime, model, ports, engine/rules, engine/replay, engine/handlers
  engine              | runtime, model, ports, engine/rules, engine/replay, engine/handlers, engine/database, engine/worker

  client              | runtime, model, dialects, remote-tasks, SDK client
  stores/shared       | runtime, model, ports, node:crypto
  stores/sqlite       | runtime, model, ports, stores/shared, client/call-registry.ts, node:*
  stores/postgres     | runtime, model, ports, stores/shared, node:*, pg
  telemetry           | runtime, model, ports, @opentelemetry/api, node:crypto

  task-methods        | runtime, model, ports, dialects, engine, security, node:*
  client-hosted-tasks | model, dialects, engine, task-methods
  operator            | runtime, model, ports, engine, security
  server              | runtime, model, ports, dialects, remote-tasks, engine, security, task-methods, operator, node:*, SDK server
  gateway             | runtime, model, ports, dialects, remote-tasks, engine, security, telemetry, task-methods, server, client, client-hosted-tasks, operator, node:*, SDK server, SDK client

  testing             | runtime, model, ports, engine, server, client, stores/sqlite, node:*
  cli                 | anything

  check-node.ts       |
  index.ts            | anything
  client.ts           | anything
  server.ts           | anything
  store.ts            | anything
  store-testing.ts    | anything
  postgres.ts         | anything
  sqlite.ts           | anything
  telemetry.ts        | anything
  testing.ts          | anything
`;

/** Names in the rows that stand for several modules or files. */
const groups: Readonly<Record<string, readonly string[]>> = {
  'ext-tasks schemas': ['@modelcontextprotocol/ext-tasks/core'],
  'SDK server': ['@modelcontextprotocol/server', '@modelcontextprotocol/node'],
  'SDK client': ['@modelcontextprotocol/client'],
};

const src = join(import.meta.dirname, '../src');

test('every import in src/ is one that the architecture allows', () => {
  expect(strays(sourcesUnder(src))).toEqual([]);
});

test('an import of a layer that the row does not name is a stray', () => {
  expect(strays({ 'engine/tasks.ts': `import { a } from '../server/a.ts';` })).toEqual([
    'engine/tasks.ts imports server/a.ts, which is not for engine',
  ]);
});

test('the parts of the engine are layers of their own: rules import no worker', () => {
  expect(strays({ 'engine/rules/claim.ts': `import { a } from '../worker/worker.ts';` })).toEqual([
    'engine/rules/claim.ts imports engine/worker/worker.ts, which is not for engine/rules',
  ]);
});

test('a store may import the ports, and no rules', () => {
  const store = `import { a } from '../../ports/store.ts'; import { b } from '../../engine/rules/transitions.ts';`;
  expect(strays({ 'stores/sqlite/store.ts': store })).toEqual([
    'stores/sqlite/store.ts imports engine/rules/transitions.ts, which is not for stores/sqlite',
  ]);
});

test.each([
  `import { a } from '../engine/a.ts';`,
  `import '../engine/a.ts';`,
  `import type { A } from '../engine/a.ts';`,
  `export { a } from '../engine/a.ts';`,
  `export * from '../engine/a.ts';`,
  `export type { A } from '../engine/a.ts';`,
  `const a = await import('../engine/a.ts');`,
  `let a: import('../engine/a.ts').A;`,
])('a stray is found however it is written: %s', (text) => {
  expect(strays({ 'model/a.ts': text })).toEqual(['model/a.ts imports engine/a.ts, which is not for model']);
});

test.each([
  [`import { readFile } from 'node:fs/promises';`, 'node:fs/promises'],
  [`const fs = process.getBuiltinModule('node:fs');`, 'node:fs'],
  [`import { z } from 'zod';`, 'zod'],
  [`import data from '../../package.json' with { type: 'json' };`, '../package.json'],
  ['const a = await import(name);', 'something computed'],
])('the engine may import only what its row names: %s', (text, target) => {
  expect(strays({ 'engine/a.ts': text })).toEqual([`engine/a.ts imports ${target}, which is not for engine`]);
});

test('a row that names a package allows its subpaths, and no other package', () => {
  const text = `import 'zod/v4'; import 'zodiac'; import '@modelcontextprotocol/ext-tasks';`;
  expect(strays({ 'dialects/a.ts': text })).toEqual([
    'dialects/a.ts imports zodiac, which is not for dialects',
    'dialects/a.ts imports @modelcontextprotocol/ext-tasks, which is not for dialects',
  ]);
});

test('no layer imports a public entry', () => {
  expect(strays({ 'model/a.ts': `import '../index.ts';` })).toEqual([
    'model/a.ts imports index.ts, which is not for model',
  ]);
});

test('an unlisted folder or file of src/ is a stray', () => {
  expect(strays({ 'helpers/a.ts': '', 'stores/mysql/a.ts': '', 'stores/a.ts': '', 'utils.ts': '' })).toEqual([
    'helpers/a.ts is in no layer',
    'stores/mysql/a.ts is in no layer',
    'stores/a.ts is in no layer',
    'utils.ts is in no layer',
  ]);
});

test('the test of a layer may also use the test kit, and that of a layer that sees the ports the whole engine', () => {
  const text = `
    import { test } from 'vitest';
    import fc from 'fast-check';
    import { mkdtemp } from 'node:fs/promises';
    import { aTask } from '../../testing/fixtures.ts';
    import { create } from '../../engine/rules/transitions.ts';
    import { attach } from '../../server/sdk/attach.ts';`;
  expect(strays({ 'stores/sqlite/store.test.ts': text })).toEqual([
    'stores/sqlite/store.test.ts imports server/sdk/attach.ts, which is not for the tests of stores/sqlite',
  ]);
});

test('timers, clocks and chance come from the runtime', () => {
  expect(escapes(sourcesUnder(src))).toEqual([]);
});

test.each([
  ['setTimeout(act, 1);', 'setTimeout'],
  ['new Promise((resolve) => setImmediate(resolve));', 'setImmediate'],
  ['when(clearInterval);', 'clearInterval'],
  ['const now = Date.now();', 'Date.now'],
  ['const clock = { now: performance.now };', 'performance.now'],
  ['const now = new Date();', 'new Date()'],
  ['Math.random();', 'Math.random'],
  ['crypto.subtle.digest(name, bytes);', 'crypto.subtle'],
  ['AbortSignal.timeout(1);', 'AbortSignal.timeout'],
  [`import { setTimeout as pause } from 'node:timers/promises';`, 'node:timers/promises'],
  [`import { createHmac, randomBytes } from 'node:crypto';`, 'randomBytes'],
])('what would escape a simulation is found: %s', (text, what) => {
  expect(escapes({ 'engine/a.ts': text })).toEqual([`engine/a.ts uses ${what}`]);
});

test('a runtime of another name, and dates that are given, are no escapes', () => {
  const text = 'runtime.setTimeout(act, 1); new Date(at); clock.now(); Math.max(1, 2); task.setTimeout();';
  expect(escapes({ 'engine/a.ts': text })).toEqual([]);
});

// --- The checker ------------------------------------------------------------------------------------------

/** Files of src/ by their path in it. */
type Sources = Readonly<Record<string, string>>;

function strays(sources: Sources): string[] {
  const rows = rowsOf(architecture);
  const layerOf = (file: string) => [...rows.keys()].find((row) => isWithin(file, row));

  return Object.entries(sources).flatMap(([file, text]) => {
    const layer = layerOf(file);
    if (layer === undefined) return [`${file} is in no layer`];
    const isTest = file.endsWith('.test.ts');
    const row = isTest ? forTests(rows.get(layer)!) : rows.get(layer)!;
    return importsOf(file, text)
      .filter((target) => layerOf(target) !== layer && !row.some((name) => covers(name, target)))
      .map(
        (target) => `${file} imports ${target}, which is not for ${isTest ? 'the tests of ' : ''}${layer}`,
      );
  });
}

function rowsOf(table: string): Map<string, string[]> {
  const lines = table.split('\n').filter((line) => line.trim() !== '');
  return new Map(
    lines.slice(1).map((line) => {
      const [layer = '', names = ''] = line.split('|').map((cell) => cell.trim());
      return [layer, names === '' ? [] : names.split(', ')];
    }),
  );
}

/** A test may also use the test kit and, where its layer sees the ports, the engine that uses them. */
function forTests(row: readonly string[]): string[] {
  const engine = row.includes('ports') ? ['engine'] : [];
  return [...row, ...engine, 'testing', 'vitest', 'fast-check', 'node:*'];
}

/** Does this name in a row stand for that file or module? */
function covers(name: string, target: string): boolean {
  if (name === 'anything') return true;
  if (name === 'node:*') return target.startsWith('node:');
  return (groups[name] ?? [name]).some((place) => isWithin(target, place));
}

function isWithin(path: string, place: string): boolean {
  return path === place || path.startsWith(`${place}/`);
}

/** Everything a file imports, in any form: other files as paths in src/, modules by their names. */
function importsOf(file: string, text: string): string[] {
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file} cannot be parsed: ${errors[0]?.message}`);

  const targets: string[] = [];
  const add = (source: object | null | undefined) => {
    const name = source && 'value' in source ? String(source.value) : 'something computed';
    targets.push(name.startsWith('.') ? posix.join(posix.dirname(file), name) : name);
  };
  new Visitor({
    ImportDeclaration: ({ source }) => add(source),
    ExportAllDeclaration: ({ source }) => add(source),
    ExportNamedDeclaration: ({ source }) => source && add(source),
    ImportExpression: ({ source }) => add(source),
    TSImportType: ({ source }) => add(source),
    CallExpression({ callee, arguments: [source] }) {
      if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return;
      if (callee.property.name === 'getBuiltinModule') add(source);
    },
  }).visit(program);
  return targets;
}

const uncontrolled = {
  globals: ['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'clearImmediate'],
  members: [
    'Date.now',
    'performance.now',
    'Math.random',
    'crypto.getRandomValues',
    'crypto.randomUUID',
  ].concat(['crypto.subtle', 'AbortSignal.timeout', 'process.hrtime']),
  ofCrypto: ['randomBytes', 'randomUUID', 'randomInt', 'randomFill', 'webcrypto', 'scrypt', 'pbkdf2'],
};

/** What makes two runs differ and does not come from the runtime. A thread has its own time. */
function escapes(sources: Sources): string[] {
  return Object.entries(sources).flatMap(([file, text]) => {
    if (file === 'runtime/runtime.ts' || file.startsWith('runtime/watchdog/') || file.endsWith('.test.ts'))
      return [];
    const found: string[] = [];
    const look = (node: { readonly type: string; readonly name?: unknown }) => {
      if (node.type === 'Identifier' && uncontrolled.globals.includes(String(node.name)))
        found.push(String(node.name));
    };
    new Visitor({
      CallExpression({ callee, arguments: given }) {
        look(callee);
        for (const one of given) look(one);
      },
      MemberExpression({ object, property }) {
        const [of, name] = [object, property].map((part) => (part.type === 'Identifier' ? part.name : ''));
        if (uncontrolled.members.includes(`${of}.${name}`)) found.push(`${of}.${name}`);
      },
      NewExpression({ callee, arguments: given }) {
        if (callee.type === 'Identifier' && callee.name === 'Date' && given.length === 0)
          found.push('new Date()');
      },
      ImportDeclaration({ source, specifiers }) {
        if (source.value.startsWith('node:timers')) found.push(source.value);
        if (source.value !== 'node:crypto') return;
        for (const { local } of specifiers)
          if (uncontrolled.ofCrypto.includes(local.name)) found.push(local.name);
      },
    }).visit(parseSync(file, text).program);
    return found.map((what) => `${file} uses ${what}`);
  });
}

function sourcesUnder(folder: string): Sources {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  );
  return Object.fromEntries(
    files.map((file) => [file.replaceAll('\\', '/'), readFileSync(join(folder, file), 'utf8')]),
  );
}
