import { deepEqual } from 'node:assert/strict';

/** The result of a tool has this text and no other content. */
export function says(result: object, text: string): void {
  deepEqual((result as { content?: unknown }).content, [{ type: 'text', text }]);
}
