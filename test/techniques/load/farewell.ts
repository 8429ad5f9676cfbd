import { expect } from 'vitest';
import { subscriptionId } from './protocol.ts';

/** The answer with which a server ends a subscription. */
export function farewellTo(id: string): unknown {
  const _meta = expect.objectContaining({ [subscriptionId]: id });
  return { jsonrpc: '2.0', id, result: { resultType: 'complete', _meta } };
}
