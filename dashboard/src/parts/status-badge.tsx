import type { TaskStatus } from '../../../src/model/status.ts';
import { Icon } from './icons.tsx';

/** What each status means, in a few words. */
export const meanings: Readonly<Record<TaskStatus, string>> = {
  queued: 'Not started yet',
  running: 'In progress',
  waiting: 'Waiting for an answer',
  completed: 'Finished with a result',
  failed: 'Finished with an error',
  cancelled: 'Cancelled before it finished',
  lost: 'The outcome is unknown',
};

/** A status as an icon and a word; the colour only repeats them. */
export function StatusBadge({ status, blocked }: { status: TaskStatus; blocked?: string | undefined }) {
  return (
    <span class="badge" data-status={status} title={blocked ?? meanings[status]}>
      <Icon name={blocked ? 'warning' : status} />
      {blocked ? 'blocked' : status}
    </span>
  );
}
