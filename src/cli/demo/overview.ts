/** What the page may know of tasks. An id is a key: no more than its beginning leaves this file. */

import { anonymous, local } from '../../hosting/caller.ts';
import { isJsonObject, type Json } from '../../model/json.ts';
import { openInputs, type Progress, type Task } from '../../model/task.ts';
import { questionsOf } from '../../protocol/collapse.ts';
import type { Tasks } from '../../server/tasks.ts';

export interface Overview {
  readonly now: number;
  readonly tasks: readonly TaskOverview[];
}

export interface TaskOverview {
  readonly id: string;
  readonly tool: string;
  readonly status: 'waiting' | 'running' | 'completed' | 'failed' | 'cancelled';
  readonly progress?: Omit<Progress, 'message'>;
  readonly message?: string;
  readonly questions: readonly string[];
  readonly createdAt: number;
  readonly finishedAt?: number;
}

const owners = [anonymous, local];
const newest = 50;
const longestText = 300;

export async function overview(tasks: Tasks): Promise<Overview> {
  const pages = await Promise.all(owners.map((owner) => tasks.list({ owner, limit: newest })));
  const shown = pages
    .flatMap((page) => page.tasks)
    .toSorted((a, b) => b.createdAt - a.createdAt)
    .slice(0, newest);
  return { now: Date.now(), tasks: await Promise.all(shown.map((task) => view(tasks, task))) };
}

/** How many tasks are not done yet. */
export async function unfinished(tasks: Tasks): Promise<number> {
  let count = 0;
  for (const owner of owners) {
    let cursor: string | undefined;
    do {
      const page = await tasks.list({ owner, limit: 500, ...(cursor !== undefined && { cursor }) });
      count += page.tasks.filter(({ phase }) => phase !== 'done').length;
      cursor = page.nextCursor;
    } while (cursor !== undefined);
  }
  return count;
}

async function view(tasks: Tasks, task: Task): Promise<TaskOverview> {
  const { progress, createdAt } = task;
  const questions = await questionsIn(tasks, task);
  const message = messageOf(task);
  return {
    id: task.id.slice(0, 6),
    tool: task.tool,
    status: questions.length > 0 ? 'waiting' : statusOf(task),
    ...(progress && {
      progress: { done: progress.done, ...(progress.total !== undefined && { total: progress.total }) },
    }),
    ...(message && { message: safe(message) }),
    questions: questions.map(safe),
    createdAt,
    ...(task.phase === 'done' && { finishedAt: task.finishedAt }),
  };
}

async function questionsIn(tasks: Tasks, task: Task): Promise<string[]> {
  if (task.phase === 'done') return [];
  const tree = task.liveChildCount > 0 ? await (await tasks.requests()).tree(task.id) : undefined;
  const open = tree ? questionsOf(tree) : openInputs(task);
  return open.map(({ request }) => {
    if (request.kind === 'sampling') return 'A question to the model of the client.';
    return request.kind === 'roots' ? 'Which folders may be used?' : request.message;
  });
}

function statusOf(task: Task): TaskOverview['status'] {
  if (task.phase !== 'done') return task.phase === 'waiting' ? 'waiting' : 'running';
  const { outcome } = task;
  if (outcome.kind === 'result') return outcome.isError ? 'failed' : 'completed';
  return outcome.kind === 'cancelled' ? 'cancelled' : 'failed';
}

function messageOf(task: Task): string | undefined {
  if (task.phase !== 'done') return task.stuck?.message ?? task.progress?.message ?? task.statusMessage;
  const { outcome } = task;
  if (outcome.kind === 'failure' || outcome.kind === 'lost') return outcome.message;
  if (outcome.kind === 'cancelled') return outcome.reason;
  return outcome.isError ? textOf(outcome.value) : task.statusMessage;
}

/** Of a result that says what went wrong. Other results are for those who have the key. */
function textOf(result: Json): string | undefined {
  const [first] = isJsonObject(result) && Array.isArray(result.content) ? (result.content as Json[]) : [];
  return first !== undefined && isJsonObject(first) && typeof first.text === 'string'
    ? first.text
    : undefined;
}

/** Whatever a tool says, no id comes through whole. */
function safe(text: string): string {
  const shown = text.replace(/[a-z2-7]{32}/g, (id) => `${id.slice(0, 6)}…`);
  return shown.length > longestText ? `${shown.slice(0, longestText)}…` : shown;
}
