/** Task → wire: the flat task that every answer of this revision shows, and the outcome, which comes apart from it. */
import type { TaskV1 } from '@modelcontextprotocol/ext-tasks/core/v1';
import type { JsonObject } from '../../../model/json.ts';
import type { Outcome } from '../../../model/outcome.ts';
import { pollHintMs } from '../../../model/poll-hint.ts';
import type { Task } from '../../../model/task.ts';
import { questionsOf, type Tree } from '../../collapse.ts';
import { linksOf, parentOf, ttlOf, type WireLinks } from '../../links.ts';
import { relatedTaskKey } from './names.ts';

export type WireTask = TaskV1 & WireLinks;

export function toTask(tree: Tree, now: number): WireTask {
  const { root } = tree;
  const statusMessage = messageOf(root);
  return {
    taskId: root.id,
    status: statusOf(tree),
    createdAt: new Date(root.createdAt).toISOString(),
    lastUpdatedAt: new Date(root.updatedAt).toISOString(),
    ttl: ttlOf(tree, now),
    pollInterval: pollHintMs(root, now),
    ...(statusMessage !== undefined && { statusMessage }),
    ...linksOf(tree),
  };
}

/** Every message about a task that does not name it otherwise names it here; what else is there stays. */
export function relatedTo(tree: Tree, meta?: JsonObject): JsonObject {
  return { ...meta, [relatedTaskKey]: { taskId: tree.root.id, ...parentOf(tree) } };
}

function statusOf(tree: Tree): WireTask['status'] {
  const { root } = tree;
  if (root.phase !== 'done') return questionsOf(tree).length > 0 ? 'input_required' : 'working';
  return endStatus(root.outcome);
}

/** An error result is a failure here, though `tasks/result` gives it like any other. */
function endStatus(outcome: Outcome): WireTask['status'] {
  switch (outcome.kind) {
    case 'result':
      return outcome.isError ? 'failed' : 'completed';
    case 'cancelled':
      return 'cancelled';
    case 'failure':
    case 'lost':
      return 'failed';
  }
}

function messageOf(task: Task): string | undefined {
  if (task.phase !== 'done') return task.statusMessage;
  const { outcome } = task;
  switch (outcome.kind) {
    case 'failure':
    case 'lost':
      return outcome.message;
    case 'cancelled':
      return outcome.reason ?? task.statusMessage ?? 'The task was cancelled.';
    case 'result':
      return outcome.isError ? firstText(outcome.value as JsonObject) : task.statusMessage;
  }
}

/** What went wrong stands in the result; the status repeats the beginning of it for those that only look. */
function firstText({ content }: JsonObject): string {
  const texts = (Array.isArray(content) ? content : []).map((block) => (block as JsonObject).text);
  const text = texts.find((one) => typeof one === 'string');
  return typeof text === 'string' && text !== '' ? text.slice(0, 500) : 'The tool reported an error.';
}
