/** The headline of a task's page: its current activity or its outcome, in one sentence. */
import type { TaskDetails } from '../../../src/operator/api.ts';
import { ahead, duration, plural, roughly } from '../format.ts';
import { crashesOf } from './timeline-layout.ts';

export function sentenceAbout(details: TaskDetails, now: number): string {
  const { task, passes } = details;
  const crashes = crashesOf(passes).length;
  const survived = crashes === 0 ? '' : ` It survived ${crashes === 1 ? 'a crash' : `${crashes} crashes`}.`;
  const took = duration((task.finishedAt ?? now) - task.createdAt);
  switch (task.status) {
    case 'completed':
      return `Completed in ${took}.${survived}`;
    case 'failed':
      return `Failed after ${took}.`;
    case 'cancelled':
      return `Cancelled after ${took}.`;
    case 'lost':
      return `Lost after ${took}: it is unknown whether its work was done.`;
    default:
      return `${liveSentence(details, now)}${survived}`;
  }
}

function liveSentence(details: TaskDetails, now: number): string {
  const { task, calls, worker, wakeAt, questions } = details;
  if (task.blocked) return 'Blocked: no worker can continue this task.';
  if (task.status === 'queued') return `Waiting for a worker for ${roughly(now - task.createdAt)}.`;
  const asked = questions.filter(({ state }) => state === 'open');
  if (asked.length > 0) {
    const waiting = roughly(now - Math.min(...asked.map(({ askedAt }) => askedAt)));
    return `Waiting for ${asked.length === 1 ? 'an answer' : `${asked.length} answers`} for ${waiting}.`;
  }
  const open = calls.filter(({ state }) => state === 'open');
  const step = open.find(({ kind }) => kind === 'step');
  if (worker && worker.leaseUntil < now)
    return `The lease of its worker expired ${roughly(now - worker.leaseUntil)} ago; another worker will take over.`;
  if (step && (step.attempts.at(-1)?.retryAt ?? 0) > now)
    return `Step ${step.name} failed ${plural(step.attempts.length, 'time')}; next attempt in ${ahead(step.attempts.at(-1)!.retryAt - now)}.`;
  if (step && worker) return `Running step ${step.name} for ${roughly(now - step.from)}.`;
  if (task.liveChildCount > 0 && !worker) return `Waiting for ${plural(task.liveChildCount, 'subtask')}.`;
  const timer = open.find(({ kind }) => kind === 'sleep' || kind === 'until');
  const due = timer?.due ?? wakeAt;
  if (!worker && due !== null && due !== undefined && due > now)
    return `Sleeping; resumes in ${ahead(due - now)}.`;
  const event = open.find(({ kind }) => kind === 'event');
  if (event && !worker) return `Waiting for the event ${event.name}.`;
  return worker ? `Running for ${roughly(now - task.createdAt)}.` : 'Ready; waiting for a worker.';
}
