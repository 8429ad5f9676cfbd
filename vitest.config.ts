import { readFileSync } from 'node:fs';
import { defineConfig, type TestUserConfig } from 'vitest/config';

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

/** It keeps all cores busy by itself: nothing else runs until it is done. */
const alone = 'test/techniques/simulation/simulation.test.ts';

export type Lane = Required<Pick<TestUserConfig, 'include' | 'exclude'>> & { readonly name: string };

export function lane({ name, include, exclude }: Lane, options: TestUserConfig = {}) {
  const part = (test: TestUserConfig) => ({ extends: true as const, test });
  return defineConfig({
    resolve: { alias: sources },
    test: {
      projects: [
        part({ include: [alone], exclude: [], name: 'simulation', sequence: { groupOrder: 0 } }),
        part({
          include,
          exclude: [alone, '**/node_modules/**', ...exclude],
          name: 'rest',
          sequence: { groupOrder: 1 },
        }),
      ],
      env: { HOLDFAST_LANE: name, NODE_COMPILE_CACHE },
      reporters: ['default', './test/reporter.ts'],
      globalSetup: ['./test/kit/global-setup.ts'],
      // A machine that does several things at once is slow, not wrong: limits are generous, and nothing is tried twice.
      testTimeout: 120_000,
      expect: { poll: { timeout: 60_000 } },
      hookTimeout: 120_000,
      pool: 'forks',
      // A file waits for processes, disks and clocks a third of its time: three at a time keep two cores busy.
      maxWorkers: 3,
      ...options,
    },
  });
}

export default lane({
  name: 'quick',
  include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
  exclude: ['**/*.full.test.ts', '**/*.long.test.ts'],
});
