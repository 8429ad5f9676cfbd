/** A task as one row of a list. What is given is redacted already. */
import { isJsonObject, type Json } from '../model/json.ts';
import type { Outcome } from '../model/outcome.ts';
import { standingOf } from '../model/standing.ts';
import { openInputs, type Task } from '../model/task.ts';
import type { TaskSummary } from './api.ts';
import { shortText } from './shorten.ts';

const longestLine = 300;

export function summaryOf(task: Task): TaskSummary {
  const { statusMessage, stuck, progress, parentId } = task;
  const problem = task.phase === 'done' ? problemOf(task.outcome) : undefined;
  return {
    id: task.id,
    owner: task.owner,
    tool: task.tool,
    toolVersion: task.toolVersion,
    standing: standingOf(task),
    ...(stuck && { stuck: shortText(stuck.message, longestLine) }),
    ...(statusMessage !== undefined && { statusMessage: shortText(statusMessage, longestLine) }),
    ...(progress && {
      progress:
        progress.message === undefined
          ? progress
          : { ...progress, message: shortText(progress.message, longestLine) },
    }),
    ...(problem !== undefined && { problem: oneLine(problem) }),
    createdAt: task.createdAt,
    updatedAt: task.updatedAt,
    ...(task.phase === 'done' && { finishedAt: task.finishedAt }),
    ...(task.unpublished && { plainCall: true }),
    deadlineAt: task.deadlineAt,
    ...(parentId !== undefined && { parentId }),
    rootId: task.rootId,
    childCount: task.childCount,
    liveChildCount: task.liveChildCount,
    openQuestions: openInputs(task).length,
    passes: task.epoch,
    version: task.version,
  };
}

function problemOf(outcome: Outcome): string | undefined {
  if (outcome.kind === 'failure' || outcome.kind === 'lost') return outcome.message;
  if (outcome.kind === 'cancelled') return outcome.reason;
  return outcome.isError ? textOf(outcome.value) : undefined;
}

/** What an error result says; a large one may have been left out. */
function textOf(result: Json): string {
  if (typeof result === 'string') return result;
  const content = isJsonObject(result) ? result.content : undefined;
  const [first] = Array.isArray(content) ? (content as Json[]) : [];
  const text = first !== undefined && isJsonObject(first) ? first.text : undefined;
  return typeof text === 'string' ? text : 'It ended with an error result.';
}

function oneLine(text: string): string {
  return shortText(text.trim().split('\n', 1)[0]!.trim(), longestLine);
}
