/** What is going on with a task, in one sentence: what a reader wants to know first. */
import type { TaskDetails } from '../../../src/operator/api.ts';
import { ahead, duration, plural, roughly } from '../format.ts';
import { crashesOf } from './timeline-layout.ts';

export function sentenceAbout(story: TaskDetails, now: number): string {
  const { task, passes } = story;
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
      return `Lost after ${took}: nobody can say whether its work was done.`;
    default:
      return `${liveSentence(story, now)}${survived}`;
  }
}

function liveSentence(story: TaskDetails, now: number): string {
  const { task, calls, worker: holder, wakeAt, questions } = story;
  if (task.blocked) return 'Set aside: no worker can go on with it at present.';
  if (task.status === 'queued') return `Has waited for a worker for ${roughly(now - task.createdAt)}.`;
  const asked = questions.filter(({ state }) => state === 'open');
  if (asked.length > 0) {
    const waited = roughly(now - Math.min(...asked.map(({ askedAt }) => askedAt)));
    return `Has waited for ${asked.length === 1 ? 'an answer' : `${asked.length} answers`} for ${waited}.`;
  }
  const open = calls.filter(({ state }) => state === 'open');
  const step = open.find(({ kind }) => kind === 'step');
  if (holder && holder.leaseUntil < now)
    return `Its process has been silent for ${roughly(now - holder.leaseUntil)} longer than it may; another will take over.`;
  if (step && (step.attempts.at(-1)?.retryAt ?? 0) > now)
    return `Step ${step.name} failed ${plural(step.attempts.length, 'time')}; it is tried again in ${ahead(step.attempts.at(-1)!.retryAt - now)}.`;
  if (step && holder) return `At step ${step.name} for ${roughly(now - step.from)}.`;
  if (task.liveChildCount > 0 && !holder) return `Waits for ${plural(task.liveChildCount, 'subtask')}.`;
  const timer = open.find(({ kind }) => kind === 'sleep' || kind === 'until');
  const due = timer?.due ?? wakeAt;
  if (!holder && due !== null && due !== undefined && due > now)
    return `Sleeps; goes on in ${ahead(due - now)}.`;
  const event = open.find(({ kind }) => kind === 'event');
  if (event && !holder) return `Waits for the event ${event.name}.`;
  return holder ? `Under way for ${roughly(now - task.createdAt)}.` : 'Waits to be taken up again.';
}
