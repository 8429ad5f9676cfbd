/** The head of a task's page: its tool, status, facts and actions. */
import type { ComponentChildren } from 'preact';
import type { TaskDetails } from '../../../src/operator/api.ts';
import { now } from '../clock.ts';
import { Icon } from '../parts/icons.tsx';
import { KindSign } from '../parts/kind-sign.tsx';
import { ProgressBar } from '../parts/progress.tsx';
import { StatusBadge } from '../parts/status-badge.tsx';
import { Ago, Duration, Moment } from '../parts/time.tsx';
import { everything, href } from '../router.ts';
import { Actions } from './actions.tsx';
import { sentenceAbout } from './sentence.ts';
import { processName } from './words.ts';

interface HeadProps {
  readonly details: TaskDetails;
  readonly isGone: boolean;
  onDone(): Promise<void>;
}

export function Head({ details, isGone, onDone }: HeadProps) {
  const { task } = details;
  const trouble = task.blocked ?? task.problem;
  return (
    <header class="card task-head" data-status={task.status}>
      <Trail details={details} />
      <div class="title-line">
        <h1 tabIndex={-1}>{task.tool}</h1>
        <StatusBadge status={task.status} blocked={task.blocked} />
      </div>
      <Sentence details={details} />
      {task.progress && task.status !== 'completed' && (
        <div class="head-progress">
          <ProgressBar progress={task.progress} />
          {task.progress.message && <span>{task.progress.message}</span>}
        </div>
      )}
      {task.statusMessage &&
        task.statusMessage !== task.progress?.message &&
        task.statusMessage !== task.problem && <p class="status-message">{task.statusMessage}</p>}
      {trouble && (
        <p class={task.status === 'cancelled' ? 'status-message' : 'trouble'}>
          {task.status !== 'cancelled' && <Icon name="warning" />}
          <span>{trouble}</span>
        </p>
      )}
      <Facts details={details} />
      <Actions details={details} isGone={isGone} onDone={onDone} />
    </header>
  );
}

function Sentence({ details }: { details: TaskDetails }) {
  return <p class="sentence">{sentenceAbout(details, details.task.finishedAt ?? now.value)}</p>;
}

function Trail({ details }: { details: TaskDetails }) {
  return (
    <nav class="trail" aria-label="Parents of this task">
      <ol>
        <li>
          <a href={href({ view: 'tasks', filter: everything })}>Tasks</a>
        </li>
        {details.ancestors.map(({ id, tool }) => (
          <li key={id}>
            <a href={href({ view: 'task', id })}>{tool}</a>
          </li>
        ))}
        <li aria-current="page">
          <span class="mono">{details.task.id}</span>
        </li>
      </ol>
    </nav>
  );
}

function Facts({ details }: { details: TaskDetails }) {
  const { task, worker, retryOf, retriedAs, origin } = details;
  return (
    <dl class="head-facts">
      <Fact name="Owner">{task.owner || <span class="muted">none</span>}</Fact>
      <Fact name="Created">
        <Ago at={task.createdAt} />
      </Fact>
      <Fact name={task.finishedAt === undefined ? 'Running for' : 'Duration'}>
        <Duration from={task.createdAt} to={task.finishedAt} />
      </Fact>
      <Fact name="Passes">{task.passes}</Fact>
      {task.childCount > 0 && (
        <Fact name="Subtasks">
          {task.liveChildCount > 0 ? `${task.liveChildCount} of ${task.childCount} running` : task.childCount}
        </Fact>
      )}
      {worker && (
        <Fact name="Worker">
          <span class="mono" title={worker.name}>
            {processName(worker.name)}
          </span>
        </Fact>
      )}
      {task.deadlineAt !== null && task.finishedAt === undefined && (
        <Fact name="Deadline">
          <Ago at={task.deadlineAt} />
        </Fact>
      )}
      {details.purgeAt !== null && (
        <Fact name="Expires">
          <Moment at={details.purgeAt} />
        </Fact>
      )}
      <Fact name="Called by">
        {origin.method} <span class="muted dialect">{origin.dialect}</span>
        <KindSign task={task} />
      </Fact>
      <Fact name="Version">{task.toolVersion}</Fact>
      {retryOf && (
        <Fact name="Retry of">
          <TaskLink id={retryOf} />
        </Fact>
      )}
      {retriedAs && (
        <Fact name="Retried as">
          <TaskLink id={retriedAs} />
        </Fact>
      )}
    </dl>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function TaskLink({ id }: { id: string }) {
  return (
    <a class="mono" href={href({ view: 'task', id })} title={id}>
      {id.length > 14 ? `${id.slice(0, 12)}…` : id}
    </a>
  );
}
