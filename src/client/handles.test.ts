import { describe, test } from 'vitest';
import { testHandles } from '../testing/test-handles.ts';
import { memoryHandles } from './handles.ts';

describe('the registry in memory', () => {
  const notKept = 'it goes with its process';
  testHandles({ test, place: () => ({ open: memoryHandles, remove: () => {} }), notKept });
});
