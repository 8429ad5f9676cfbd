import { useMemo } from 'preact/hooks';
import type { TaskSummary } from '../../../src/operator/api.ts';
import { aboutTask, ownerName } from '../format.ts';
import { remember } from '../live.ts';
import { KindSign } from '../parts/kind-sign.tsx';
import { ProgressBar } from '../parts/progress.tsx';
import { StandingBadge } from '../parts/standing.tsx';
import { Ago, Duration } from '../parts/time.tsx';
import { href } from '../router.ts';

interface RowProps {
  readonly task: TaskSummary;
  readonly index: number;
  readonly setSize: number;
  readonly top: number;
  /** Still shown where it was, though it does not belong here any more. */
  readonly isLeaving: boolean;
  readonly isGone: boolean;
  readonly isFresh: boolean;
}

export function Row({ task, index, setSize, top, isLeaving, isGone, isFresh }: RowProps) {
  // What is the same object is not looked at again.
  const content = useMemo(() => <Content task={task} isGone={isGone} />, [task, isGone]);
  return (
    <li
      class="row"
      style={{ transform: `translateY(${top}px)` }}
      aria-posinset={index + 1}
      aria-setsize={setSize}
      data-leaving={isLeaving ? '' : undefined}
      data-fresh={isFresh ? '' : undefined}
    >
      {content}
    </li>
  );
}

function Content({ task, isGone }: { task: TaskSummary; isGone: boolean }) {
  const isLive = task.finishedAt === undefined;
  return (
    <a
      class="row-link"
      href={href({ view: 'task', id: task.id })}
      data-id={task.id}
      onClick={() => remember(task)}
    >
      <span class="row-standing">
        <StandingBadge standing={task.status} stuck={task.blocked} />
      </span>
      <span class="row-what">
        <span class="row-tool">
          {task.tool}
          <KindSign task={task} />
        </span>
        <span class="row-text">{isGone ? 'Purged' : aboutTask(task)}</span>
        {isLive && task.progress && (
          <span class="row-progress">
            <ProgressBar progress={task.progress} />
          </span>
        )}
      </span>
      <span class="row-owner" title={task.owner}>
        {ownerName(task.owner)}
      </span>
      <span class="row-made">
        <span class="visually-hidden">made </span>
        <Ago at={task.createdAt} />
      </span>
      <span class="row-took">
        <span class="visually-hidden">{isLive ? 'for ' : 'took '}</span>
        <Duration from={task.createdAt} to={task.finishedAt} />
      </span>
    </a>
  );
}
