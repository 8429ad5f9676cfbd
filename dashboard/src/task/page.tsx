/** The page of one task: how it stands, what it waits for, what happened, what it was given and gave. */
import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { JsonObject } from '../../../src/model/json.ts';
import type { TaskDetails } from '../../../src/operator/api.ts';
import { sentenceOf } from '../errors.ts';
import { Icon } from '../parts/icons.tsx';
import { Empty, Failure, Loading } from '../parts/states.tsx';
import { Conversation } from '../question/conversation.tsx';
import { everything, href } from '../router.ts';
import { desk } from '../session.ts';
import { Head } from './head.tsx';
import { Audit, Events } from './records.tsx';
import './task.css';
import { TimelineCard } from './timeline-card.tsx';
import { useStory } from './told.ts';
import { Arguments, Result } from './values.tsx';

export function TaskPage({ id }: { id: string }) {
  // Another task is another page: nothing of the last one may stay in it.
  return <Page key={id} id={id} />;
}

function Page({ id }: { id: string }) {
  const reader = useStory(id);
  const told = reader.told.value;
  const read = () => reader.read();
  // Whoever came by keyboard is at the heading, and must not be thrown back to the top when the task arrives.
  const isAtHeading = useRef(false);
  useEffect(() => {
    document.title = told.state === 'told' ? titleOf(told.story) : 'Task – Holdfast';
  });
  if (told.state === 'told')
    return (
      <Story
        story={told.story}
        error={told.error}
        isGone={told.isGone === true}
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
      {told.state === 'loading' && <Loading label="Loading the task" lines={6} />}
      {told.state === 'failed' && <Failure error={told.error} onRetry={read} />}
      {told.state === 'missing' && (
        <Empty title="There is no such task" icon="search">
          <p>
            <span class="mono">{id}</span> is unknown here. Its retention may be over, it may have been
            purged, or it belongs to somebody whose tasks you do not see.
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
  return `${task.tool}, ${task.blocked ? 'set aside' : task.status} – Holdfast`;
}

interface StoryProps {
  readonly story: TaskDetails;
  readonly error: unknown;
  readonly isGone: boolean;
  readonly takesFocus: boolean;
  read(): Promise<void>;
}

function Story({ story, error, isGone, takesFocus, read }: StoryProps) {
  const page = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    if (takesFocus) page.current!.querySelector('h1')!.focus({ preventScroll: true });
  }, []);
  const opened = useSignal<ReadonlySet<string>>(new Set());
  // Whoever came to answer finds the question first, and it does not move away when it is answered.
  const isOpen = story.questions.some(({ state }) => state === 'open');
  const wasOpen = useRef(false);
  wasOpen.current ||= isOpen;
  const parts = [
    <TimelineCard key="timeline" story={story} opened={opened} />,
    <div key="values" class="values">
      <Arguments story={story} />
      <Result story={story} />
    </div>,
  ];
  const answer = async (key: string, response: JsonObject) => {
    try {
      await desk.peek()!.answer(story.task.id, key, response);
    } finally {
      // Whether it was taken or refused: the story has moved.
      await read();
    }
  };
  return (
    <article class="task-page" ref={page}>
      {isGone && (
        <p class="notice notice-wide" role="status">
          <Icon name="bin" /> This task was purged. What you see is what was known of it before.
        </p>
      )}
      {error !== undefined && !isGone && (
        <p class="notice notice-wide" role="status">
          <Icon name="warning" /> What you see may be old: {sentenceOf(error)}
        </p>
      )}
      <Head story={story} isGone={isGone} onDone={read} />
      {parts.toSpliced(
        wasOpen.current ? 0 : 1,
        0,
        <Conversation
          key="conversation"
          taskId={story.task.id}
          questions={story.questions}
          answer={answer}
        />,
      )}
      <Events story={story} />
      <Audit story={story} />
    </article>
  );
}
