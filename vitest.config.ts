import { readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';

const { name, exports } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'));

/** Tests that import the package by its name get the sources, not whatever was built last. */
const sources = Object.entries<{ 'holdfast-source': string } | string>(exports).flatMap(([entry, target]) =>
  typeof target === 'string'
    ? []
    : [
        {
          find: new RegExp(`^${entry.replace('.', name)}$`),
          replacement: new URL(target['holdfast-source'], import.meta.url).pathname,
        },
      ],
);

/** The many processes that tests start need not compile the same sources again. */
const NODE_COMPILE_CACHE = new URL('node_modules/.cache/compiled', import.meta.url).pathname;

export default defineConfig({
  resolve: { alias: sources },
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['**/*.full.test.ts', '**/*.long.test.ts', '**/node_modules/**'],
    env: { HOLDFAST_LANE: 'quick', NODE_COMPILE_CACHE },
    reporters: ['default', './test/reporter.ts'],
    globalSetup: ['./test/kit/global-setup.ts'],
    // A machine that does several things at once is slow, not wrong: limits are generous, and nothing is tried twice.
    testTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    hookTimeout: 120_000,
    pool: 'forks',
    // Most of a file is waiting for processes and clocks: two at a time keep two cores busy, and no busier.
    maxWorkers: 2,
  },
});
