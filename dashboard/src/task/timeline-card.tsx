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

export function TimelineCard({
  details,
  opened,
}: {
  details: TaskDetails;
  opened: Signal<ReadonlySet<string>>;
}) {
  const form = useSignal<'Timeline' | 'Table'>('Timeline');
  // A finished task does not depend on the current time, so it is not rendered every second.
  const timeline = timelineOf(details, details.task.finishedAt ?? now.value);
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
            <li class="muted">{crashes.length - fewCrashes} earlier crashes are on the timeline.</li>
          )}
        </ul>
      )}
      {details.omittedCalls > 0 && (
        <p class="nothing">
          {plural(details.omittedCalls, 'call')} in the middle {details.omittedCalls === 1 ? 'is' : 'are'}{' '}
          left out.
        </p>
      )}
      {rows.length === 0 ? (
        <p class="nothing">The task has not started yet. Its history will appear here.</p>
      ) : form.value === 'Table' ? (
        <TimelineTable timeline={timeline} />
      ) : (
        <TimelineDrawing timeline={timeline} opened={{ rows: opened.value, toggle }} />
      )}
    </section>
  );
}

function CrashWords({ crash }: { crash: Crash }) {
  const { at, worker, resumedAt, resumedBy, replayed = 0 } = crash;
  return (
    <span>
      <strong title={worker}>{processName(worker)}</strong> died; its last activity was at <Moment at={at} />.{' '}
      {resumedAt === undefined ? (
        'No worker has taken over yet.'
      ) : (
        <>
          <strong title={resumedBy}>{processName(resumedBy!)}</strong> resumed{' '}
          {resumedAt > at ? `${duration(resumedAt - at)} later` : 'at once'}, {notRepeated(replayed)}.
        </>
      )}
    </span>
  );
}
