import { defineConfig } from 'vitest/config';
import short from './vitest.config.ts';

/** The long lane: what takes too long for every change, and all cases of what the short lane samples. */
export default defineConfig({
  ...short,
  test: {
    ...short.test,
    env: { HOLDFAST_LANE: 'long' },
    include: ['src/**/*.long.test.ts', 'test/**/*.long.test.ts', 'test/properties/*.test.ts'],
    exclude: ['**/node_modules/**'],
    retry: 0,
    testTimeout: 30 * 60_000,
  },
});
