import { defineConfig } from 'vitest/config';
import quick from './vitest.config.ts';

/** The long lane: what takes minutes by itself, and all cases of what the other lanes sample. */
export default defineConfig({
  ...quick,
  test: {
    ...quick.test,
    env: { ...quick.test?.env, HOLDFAST_LANE: 'long' },
    include: ['src/**/*.long.test.ts', 'test/**/*.long.test.ts', 'test/techniques/properties/*.test.ts'],
    exclude: ['**/node_modules/**'],
    testTimeout: 30 * 60_000,
  },
});
