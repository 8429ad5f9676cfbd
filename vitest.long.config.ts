import { defineConfig, mergeConfig } from 'vitest/config';
import short from './vitest.config.ts';

/** The long lane: the same tests with all of their cases, and the ones that only run here. */
export default mergeConfig(
  short,
  defineConfig({
    test: {
      env: { HOLDFAST_LANE: 'long' },
      include: ['**/*.long.test.ts'],
      exclude: ['**/node_modules/**'],
      testTimeout: 30 * 60_000,
    },
  }),
);
