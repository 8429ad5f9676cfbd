/** All details of one row of the timeline. */
import { Content } from '../content/content.tsx';
import { JsonTree } from '../content/json-tree.tsx';
import { duration } from '../format.ts';
import { StatusBadge } from '../parts/status-badge.tsx';
import { Ago, Duration, Moment } from '../parts/time.tsx';
import { href } from '../router.ts';
import type { Row } from './timeline-layout.ts';
import { kindWords, passWords, stateWords } from './words.ts';

export function RowDetails({ row }: { row: Row }) {
  const { call, child, childId, passes } = row;
  return (
    <div class="lane-details">
      <dl class="facts">
        <dt>{kindWords[row.kind]}</dt>
        <dd>
          <strong>{row.label}</strong> {stateWords(row)}
        </dd>
        <dt>Started</dt>
        <dd>
          <Moment at={row.from} />
          {call && row.kind !== 'subtask' && <span class="muted"> in pass {call.pass}</span>}
        </dd>
        {!passes && (
          <>
            <dt>{row.to === null ? 'Running for' : 'Duration'}</dt>
            <dd>
              <Duration from={row.from} to={row.to} />
            </dd>
          </>
        )}
        {call?.due !== undefined && (
          <>
            <dt>Due</dt>
            <dd>
              <Moment at={call.due} />{' '}
              <span class="muted">
                (<Ago at={call.due} />)
              </span>
            </dd>
          </>
        )}
        {call?.key !== undefined && (
          <>
            <dt>Key</dt>
            <dd class="mono">{call.key}</dd>
          </>
        )}
        {childId && (
          <>
            <dt>Task</dt>
            <dd>
              <a href={href({ view: 'task', id: childId })}>Open subtask</a>{' '}
              {child && <StatusBadge status={child.status} blocked={child.blocked} />}
              {child?.problem && <p class="trouble-text">{child.problem}</p>}
              {child?.statusMessage && <p>{child.statusMessage}</p>}
            </dd>
          </>
        )}
        {call?.error && (
          <>
            <dt>Error</dt>
            <dd class="trouble-text">{call.error}</dd>
          </>
        )}
      </dl>
      {passes && (
        <ol class="pass-list">
          {passes.map((pass) => (
            <li key={pass.number} data-end={pass.end}>
              <Moment at={pass.from} /> {passWords(pass)}
              {pass.to !== null && <span class="muted"> after {duration(pass.to - pass.from)}</span>}
            </li>
          ))}
        </ol>
      )}
      {call && call.attempts.length > 0 && (
        <>
          <h3>Failed attempts</h3>
          <ol class="attempts">
            {call.attempts.map(({ at, message, retryAt }, i) => (
              <li key={i}>
                <span class="trouble-text">{message}</span>{' '}
                <span class="muted">
                  at <Moment at={at} />, next attempt after {duration(Math.max(0, retryAt - at))}
                </span>
              </li>
            ))}
          </ol>
        </>
      )}
      {call?.value !== undefined && row.kind !== 'timer' && (
        <>
          <h3>{row.kind === 'question' ? 'Answer' : 'Value'}</h3>
          {row.kind === 'subtask' ? (
            <Content value={call.value} />
          ) : (
            <JsonTree value={call.value} label="Value" />
          )}
        </>
      )}
    </div>
  );
}
