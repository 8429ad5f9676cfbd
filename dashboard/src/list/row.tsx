import { useMemo } from 'preact/hooks';
import type { TaskSummary } from '../../../src/operator/api.ts';
import { aboutTask, ownerName } from '../format.ts';
import { remember } from '../live.ts';
import { KindSign } from '../parts/kind-sign.tsx';
import { ProgressBar } from '../parts/progress.tsx';
import { StatusBadge } from '../parts/status-badge.tsx';
import { Ago, Duration } from '../parts/time.tsx';
import { href } from '../router.ts';

interface RowProps {
  readonly task: TaskSummary;
  readonly index: number;
  readonly setSize: number;
  readonly top: number;
  /** Still shown, although it no longer matches the list. */
  readonly isLeaving: boolean;
  readonly isGone: boolean;
  readonly isFresh: boolean;
}

export function Row({ task, index, setSize, top, isLeaving, isGone, isFresh }: RowProps) {
  // An unchanged task is not rendered again.
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
      <span class="row-status">
        <StatusBadge status={task.status} blocked={task.blocked} />
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
      <span class="row-created">
        <span class="visually-hidden">created </span>
        <Ago at={task.createdAt} />
      </span>
      <span class="row-duration">
        <span class="visually-hidden">{isLive ? 'running for ' : 'duration '}</span>
        <Duration from={task.createdAt} to={task.finishedAt} />
      </span>
    </a>
  );
}
