import { describe, test } from 'vitest';
import { testHandles } from '../testing/stores/test-call-registry.ts';
import { memoryHandles } from './call-registry.ts';

describe('the registry in memory', () => {
  const notKept = 'it goes with its process';
  testHandles({ test, place: () => ({ open: memoryHandles, remove: () => {} }), notKept });
});
