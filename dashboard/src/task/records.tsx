/** Events and audit entries as tables. They are closed at first, and only open ones are in the page. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { TaskEvent } from '../../../src/model/event.ts';
import type { TaskDetails } from '../../../src/operator/api.ts';
import { plural } from '../format.ts';
import { Moment } from '../parts/time.tsx';
import { href } from '../router.ts';
import { processName } from './words.ts';

export function Events({ details }: { details: TaskDetails }) {
  const { events, omittedEvents } = details;
  const half = omittedEvents > 0 ? gapIn(events) : -1;
  return (
    <Drawer title="Events" note={plural(events.length + omittedEvents, 'event')}>
      <thead>
        <tr>
          <th scope="col">When</th>
          <th scope="col">Event</th>
          <th scope="col">About</th>
          <th scope="col">Version</th>
        </tr>
      </thead>
      <tbody>
        {events.map(({ version, at, event }, i) => (
          <>
            {i === half && (
              <tr>
                <td colSpan={4} class="muted">
                  {plural(omittedEvents, 'event')} left out
                </td>
              </tr>
            )}
            <tr>
              <td>
                <Moment at={at} />
              </td>
              <th scope="row">{event.type}</th>
              <td>{aboutEvent(event)}</td>
              <td class="number">{version}</td>
            </tr>
          </>
        ))}
      </tbody>
    </Drawer>
  );
}

/** The omitted events are where the versions differ most. */
function gapIn(events: TaskDetails['events']): number {
  let at = events.length;
  let widest = 0;
  for (let i = 1; i < events.length; i++) {
    const jump = events[i]!.version - events[i - 1]!.version;
    if (jump > widest) [at, widest] = [i, jump];
  }
  return at;
}

function aboutEvent(event: TaskEvent): ComponentChildren {
  switch (event.type) {
    case 'claimed':
      return `${processName(event.worker)}${event.takenFrom ? ` took over from ${processName(event.takenFrom)}` : ''}, pass ${event.epoch}`;
    case 'rested':
      return `${processName(event.takenFrom)} died or became unresponsive`;
    case 'recorded':
      return plural(event.entries, 'entry', 'entries');
    case 'reported': {
      const { progress, message } = event;
      const words =
        progress && `${progress.done}${progress.total === undefined ? '' : ` of ${progress.total}`}`;
      return [words, progress?.message, message].filter(Boolean).join(', ');
    }
    case 'asked':
    case 'answered':
    case 'withdrawn':
    case 'delivering':
    case 'undelivered':
      return <span class="mono">{event.key}</span>;
    case 'childStarted':
    case 'childDone':
      return (
        <>
          <a class="mono" href={href({ view: 'task', id: event.childId })}>
            {event.childId}
          </a>
          {event.type === 'childDone' && ` ${event.outcome}`}
        </>
      );
    case 'parked':
      return event.until === null ? (
        'until an event'
      ) : (
        <>
          until <Moment at={event.until} />
        </>
      );
    case 'stuck':
      return event.message;
    case 'completed':
      return event.name;
    case 'held':
      return `until ${plural(event.liveChildren, 'subtask')} finish`;
    case 'finished':
      return event.outcome;
    case 'awaited':
      return (
        <>
          until <Moment at={event.until} />
        </>
      );
    default:
      return '';
  }
}

export function Audit({ details }: { details: TaskDetails }) {
  if (details.audit.length === 0) return null;
  return (
    <Drawer title="Audit log" note={plural(details.audit.length, 'entry', 'entries')}>
      <thead>
        <tr>
          <th scope="col">When</th>
          <th scope="col">What</th>
          <th scope="col">Caller</th>
          <th scope="col">Details</th>
        </tr>
      </thead>
      <tbody>
        {details.audit.map((entry, i) => (
          <tr key={i}>
            <td>
              <Moment at={entry.at} />
            </td>
            <th scope="row">
              {entry.action}
              {entry.times && entry.times > 1 ? ` ×${entry.times}` : ''}
            </th>
            <td>
              {entry.by}
              {entry.owner && <span class="muted"> {entry.owner}</span>}
            </td>
            <td class="wordy">
              {[entry.reason, entry.dialect, entry.session && `session ${entry.session}`]
                .filter(Boolean)
                .join(', ')}
              {entry.details && <span class="mono"> {JSON.stringify(entry.details)}</span>}
            </td>
          </tr>
        ))}
      </tbody>
    </Drawer>
  );
}

function Drawer({ title, note, children }: { title: string; note: string; children: ComponentChildren }) {
  const isOpen = useSignal(false);
  return (
    <details
      class="card drawer"
      onToggle={({ currentTarget }) => {
        isOpen.value = currentTarget.open;
      }}
    >
      <summary>
        <h2>{title}</h2> <span class="muted">{note}</span>
      </summary>
      {isOpen.value && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
        <div class="scrolls" tabIndex={0}>
          <table class="facts-table">{children}</table>
        </div>
      )}
    </details>
  );
}
