import type { TaskStatus } from '../../../src/model/status.ts';
import { Icon } from './icons.tsx';

/** What each standing means, in a few words. */
export const meanings: Readonly<Record<TaskStatus, string>> = {
  queued: 'No worker has begun it yet',
  running: 'Under way',
  waiting: 'A person is asked something',
  completed: 'Ended with a result',
  failed: 'Ended with an error',
  cancelled: 'Somebody called it off',
  lost: 'Nobody can say how it ended',
};

/** A standing as an icon and a word; the colour only repeats them. */
export function StandingBadge({ standing, stuck }: { standing: TaskStatus; stuck?: string | undefined }) {
  return (
    <span class="badge" data-standing={standing} title={stuck ?? meanings[standing]}>
      <Icon name={stuck ? 'warning' : standing} />
      {stuck ? 'set aside' : standing}
    </span>
  );
}
