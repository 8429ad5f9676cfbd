import { type Signal, useSignal } from '@preact/signals';
import type { TaskDetails } from '../../../src/operator/api.ts';
import { now } from '../clock.ts';
import { duration, plural } from '../format.ts';
import { Icon } from '../parts/icons.tsx';
import { Moment } from '../parts/time.tsx';
import { TimelineDrawing } from './timeline.tsx';
import { type Crash, timelineOf } from './timeline-layout.ts';
import { TimelineTable } from './timeline-table.tsx';
import './timeline.css';
import { notRepeated, processName } from './words.ts';

const fewCrashes = 3;

export function TimelineCard({ story, opened }: { story: TaskDetails; opened: Signal<ReadonlySet<string>> }) {
  const form = useSignal<'Timeline' | 'Table'>('Timeline');
  // A task that is over does not grow, so nothing is drawn again with every second.
  const timeline = timelineOf(story, story.task.finishedAt ?? now.value);
  const toggle = (id: string) => {
    const next = new Set(opened.peek());
    if (!next.delete(id)) next.add(id);
    opened.value = next;
  };
  const { crashes, rows } = timeline;
  return (
    <section class="card timeline" aria-labelledby="timeline-title">
      <header class="part-head">
        <h2 id="timeline-title">Timeline</h2>
        <div class="switch">
          {(['Timeline', 'Table'] as const).map((name) => (
            <button
              key={name}
              type="button"
              aria-pressed={form.value === name}
              onClick={() => {
                form.value = name;
              }}
            >
              {name}
            </button>
          ))}
        </div>
      </header>
      {crashes.length > 0 && (
        <ul class="crashes">
          {crashes.slice(-fewCrashes).map((crash) => (
            <li key={crash.pass}>
              <Icon name="torn" />
              <CrashWords crash={crash} />
            </li>
          ))}
          {crashes.length > fewCrashes && (
            <li class="muted">{crashes.length - fewCrashes} earlier deaths are on the timeline.</li>
          )}
        </ul>
      )}
      {story.omittedCalls > 0 && (
        <p class="nothing">
          {plural(story.omittedCalls, 'call')} in the middle {story.omittedCalls === 1 ? 'is' : 'are'} left
          out.
        </p>
      )}
      {rows.length === 0 ? (
        <p class="nothing">No worker has begun it yet. What happens will be drawn here.</p>
      ) : form.value === 'Table' ? (
        <TimelineTable timeline={timeline} />
      ) : (
        <TimelineDrawing timeline={timeline} opened={{ rows: opened.value, toggle }} />
      )}
    </section>
  );
}

function CrashWords({ crash }: { crash: Crash }) {
  const { at, holder, resumedAt, resumedBy, replayed = 0 } = crash;
  return (
    <span>
      <strong title={holder}>{processName(holder)}</strong> died; it was last heard of at <Moment at={at} />.{' '}
      {resumedAt === undefined ? (
        'Nobody has taken over yet.'
      ) : (
        <>
          <strong title={resumedBy}>{processName(resumedBy!)}</strong> resumed{' '}
          {resumedAt > at ? `${duration(resumedAt - at)} later` : 'at once'}, {notRepeated(replayed)}.
        </>
      )}
    </span>
  );
}
