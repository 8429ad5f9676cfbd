import { defineConfig } from 'vitest/config';
import quick from './vitest.config.ts';

/** The full lane: everything but what takes minutes by itself. */
export default defineConfig({
  ...quick,
  test: {
    ...quick.test,
    env: { ...quick.test?.env, HOLDFAST_LANE: 'full' },
    exclude: ['**/*.long.test.ts', '**/node_modules/**'],
  },
});
