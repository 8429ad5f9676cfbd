/** The page of one task: status, questions, timeline, arguments and result. */
import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { JsonObject } from '../../../src/model/json.ts';
import type { TaskDetails } from '../../../src/operator/api.ts';
import { sentenceOf } from '../errors.ts';
import { Icon } from '../parts/icons.tsx';
import { Empty, Failure, Loading } from '../parts/states.tsx';
import { Conversation } from '../question/conversation.tsx';
import { everything, href } from '../router.ts';
import { operatorApi } from '../session.ts';
import { Head } from './head.tsx';
import { Audit, Events } from './records.tsx';
import './task.css';
import { useDetails } from './details-reader.ts';
import { TimelineCard } from './timeline-card.tsx';
import { Arguments, Result } from './values.tsx';

export function TaskPage({ id }: { id: string }) {
  // The key gives every task a fresh page, without state of the last one.
  return <Page key={id} id={id} />;
}

function Page({ id }: { id: string }) {
  const reader = useDetails(id);
  const current = reader.state.value;
  const read = () => reader.read();
  // After keyboard navigation the heading has the focus. It must not be lost when the task is loaded.
  const isAtHeading = useRef(false);
  useEffect(() => {
    document.title = current.state === 'loaded' ? titleOf(current.details) : 'Task – Holdfast';
  });
  if (current.state === 'loaded')
    return (
      <LoadedTask
        details={current.details}
        error={current.error}
        isGone={current.isGone === true}
        takesFocus={isAtHeading.current}
        read={read}
      />
    );
  return (
    <article class="card task-page">
      <h1
        class="visually-hidden"
        tabIndex={-1}
        onFocus={() => {
          isAtHeading.current = true;
        }}
        onBlur={() => {
          isAtHeading.current = false;
        }}
      >
        Task
      </h1>
      {current.state === 'loading' && <Loading label="Loading the task" lines={6} />}
      {current.state === 'failed' && <Failure error={current.error} onRetry={read} />}
      {current.state === 'missing' && (
        <Empty title="Task not found" icon="search">
          <p>
            The server has no task <span class="mono">{id}</span>. It may have expired or been purged, or you
            may not see the tasks of its owner.
          </p>
          <p>
            <a href={href({ view: 'tasks', filter: everything })}>All tasks</a>
          </p>
        </Empty>
      )}
    </article>
  );
}

function titleOf({ task }: TaskDetails): string {
  return `${task.tool}, ${task.blocked ? 'blocked' : task.status} – Holdfast`;
}

interface LoadedTaskProps {
  readonly details: TaskDetails;
  readonly error: unknown;
  readonly isGone: boolean;
  readonly takesFocus: boolean;
  read(): Promise<void>;
}

function LoadedTask({ details, error, isGone, takesFocus, read }: LoadedTaskProps) {
  const page = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    if (takesFocus) page.current!.querySelector('h1')!.focus({ preventScroll: true });
  }, []);
  const opened = useSignal<ReadonlySet<string>>(new Set());
  // An open question comes first, and stays there when it is answered.
  const isOpen = details.questions.some(({ state }) => state === 'open');
  const wasOpen = useRef(false);
  wasOpen.current ||= isOpen;
  const parts = [
    <TimelineCard key="timeline" details={details} opened={opened} />,
    <div key="values" class="values">
      <Arguments details={details} />
      <Result details={details} />
    </div>,
  ];
  const answer = async (key: string, response: JsonObject) => {
    try {
      await operatorApi.peek()!.answer(details.task.id, key, response);
    } finally {
      // Even a rejected answer means that the task has changed.
      await read();
    }
  };
  return (
    <article class="task-page" ref={page}>
      {isGone && (
        <p class="notice notice-wide" role="status">
          <Icon name="bin" /> This task was purged. The page shows its last known state.
        </p>
      )}
      {error !== undefined && !isGone && (
        <p class="notice notice-wide" role="status">
          <Icon name="warning" /> This page may be out of date: {sentenceOf(error)}
        </p>
      )}
      <Head details={details} isGone={isGone} onDone={read} />
      {parts.toSpliced(
        wasOpen.current ? 0 : 1,
        0,
        <Conversation
          key="conversation"
          taskId={details.task.id}
          questions={details.questions}
          answer={answer}
        />,
      )}
      <Events details={details} />
      <Audit details={details} />
    </article>
  );
}
