/** The head of a task's page: what it is, how it stands, and what can be done about it. */
import type { ComponentChildren } from 'preact';
import type { TaskDetails } from '../../../src/operator/api.ts';
import { now } from '../clock.ts';
import { Icon } from '../parts/icons.tsx';
import { KindSign } from '../parts/kind-sign.tsx';
import { ProgressBar } from '../parts/progress.tsx';
import { StandingBadge } from '../parts/standing.tsx';
import { Ago, Duration, Moment } from '../parts/time.tsx';
import { everything, href } from '../router.ts';
import { Actions } from './actions.tsx';
import { sentenceAbout } from './sentence.ts';
import { processName } from './words.ts';

interface HeadProps {
  readonly story: TaskDetails;
  readonly isGone: boolean;
  onDone(): Promise<void>;
}

export function Head({ story, isGone, onDone }: HeadProps) {
  const { task } = story;
  const trouble = task.blocked ?? task.problem;
  return (
    <header class="card task-head" data-standing={task.status}>
      <Trail story={story} />
      <div class="title-line">
        <h1 tabIndex={-1}>{task.tool}</h1>
        <StandingBadge standing={task.status} stuck={task.blocked} />
      </div>
      <Sentence story={story} />
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
      <Facts story={story} />
      <Actions story={story} isGone={isGone} onDone={onDone} />
    </header>
  );
}

function Sentence({ story }: { story: TaskDetails }) {
  return <p class="sentence">{sentenceAbout(story, story.task.finishedAt ?? now.value)}</p>;
}

function Trail({ story }: { story: TaskDetails }) {
  return (
    <nav class="trail" aria-label="Where this task is">
      <ol>
        <li>
          <a href={href({ view: 'tasks', filter: everything })}>Tasks</a>
        </li>
        {story.ancestors.map(({ id, tool }) => (
          <li key={id}>
            <a href={href({ view: 'task', id })}>{tool}</a>
          </li>
        ))}
        <li aria-current="page">
          <span class="mono">{story.task.id}</span>
        </li>
      </ol>
    </nav>
  );
}

function Facts({ story }: { story: TaskDetails }) {
  const { task, worker: holder, retryOf, retriedAs, origin } = story;
  return (
    <dl class="head-facts">
      <Fact name="Owner">{task.owner || <span class="muted">nobody</span>}</Fact>
      <Fact name="Made">
        <Ago at={task.createdAt} />
      </Fact>
      <Fact name={task.finishedAt === undefined ? 'So far' : 'Took'}>
        <Duration from={task.createdAt} to={task.finishedAt} />
      </Fact>
      <Fact name="Passes">{task.passes}</Fact>
      {task.childCount > 0 && (
        <Fact name="Subtasks">
          {task.liveChildCount > 0
            ? `${task.liveChildCount} of ${task.childCount} under way`
            : task.childCount}
        </Fact>
      )}
      {holder && (
        <Fact name="Held by">
          <span class="mono" title={holder.name}>
            {processName(holder.name)}
          </span>
        </Fact>
      )}
      {task.deadlineAt !== null && task.finishedAt === undefined && (
        <Fact name="Deadline">
          <Ago at={task.deadlineAt} />
        </Fact>
      )}
      {story.purgeAt !== null && (
        <Fact name="Kept until">
          <Moment at={story.purgeAt} />
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
