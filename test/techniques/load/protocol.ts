/** The words of 2026-07-28 and its Tasks extension that a client needs, written out once more: a second pair of eyes. */
import type { JsonObject } from '../../../src/model/json.ts';

export const subscriptionId = 'io.modelcontextprotocol/subscriptionId';
export const idempotencyKey = 'dev.holdfast/idempotency-key';
const serverInfo = 'io.modelcontextprotocol/serverInfo';

export interface WireTask extends JsonObject {
  readonly taskId: string;
  readonly status: 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
}

/** The task itself, without what belongs to the answer or the notification that it came in. */
export function taskIn(shown: JsonObject): WireTask {
  const { resultType: _, _meta, ...task } = shown;
  const { [subscriptionId]: _id, [serverInfo]: _server, ...rest } = (_meta ?? {}) as JsonObject;
  return (Object.keys(rest).length > 0 ? { ...task, _meta: rest } : task) as WireTask;
}

export function progressOf({ _meta }: WireTask): number {
  const { progress = 0 } = ((_meta as JsonObject | undefined)?.['dev.holdfast/progress'] ?? {}) as JsonObject;
  return progress as number;
}
