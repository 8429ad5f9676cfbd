import { lane } from './vitest.config.ts';

/** The full lane: everything but what takes minutes by itself. */
export default lane({
  name: 'full',
  include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
  exclude: ['**/*.long.test.ts'],
});
