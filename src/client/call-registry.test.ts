import { describe, test } from 'vitest';
import { testCallRegistry } from '../testing/stores/test-call-registry.ts';
import { memoryCallRegistry } from './call-registry.ts';

describe('the registry in memory', () => {
  const notKept = 'it is lost with its process';
  testCallRegistry({ test, place: () => ({ open: memoryCallRegistry, remove: () => {} }), notKept });
});
