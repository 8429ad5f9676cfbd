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

export default defineConfig({
  resolve: { alias: sources },
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['**/*.long.test.ts', '**/node_modules/**'],
    reporters: ['default', './test/reporter.ts'],
    globalSetup: ['./test/postgres/global-setup.ts'],
    testTimeout: 120_000,
    // A machine that does several things at once is slow, not wrong.
    // What failed gets one more try, and `reporter.ts` says that it needed it; but counterexamples were drawn by chance:
    // that another draw has none proves nothing. Tests that kill by chance say the same of themselves (`retry: 0`).
    retry: { count: 1, condition: /^(?!Property failed)/ },
    expect: { poll: { timeout: 30_000 } },
    hookTimeout: 60_000,
    pool: 'forks',
    // Most of a file is waiting for processes and clocks: two at a time keep two cores busy, and no busier.
    maxWorkers: 2,
  },
});
