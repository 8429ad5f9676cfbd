import { lane } from './vitest.config.ts';

/** The long lane: what takes minutes by itself, and all cases of what the other lanes sample. */
export default lane(
  {
    name: 'long',
    include: ['src/**/*.long.test.ts', 'test/**/*.long.test.ts', 'test/techniques/properties/*.test.ts'],
    exclude: [],
  },
  { testTimeout: 30 * 60_000 },
);
