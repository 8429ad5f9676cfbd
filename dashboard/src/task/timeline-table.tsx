/** The timeline as a table with the same rows. */
import { duration } from '../format.ts';
import { Moment } from '../parts/time.tsx';
import { href } from '../router.ts';
import type { Timeline } from './timeline-layout.ts';
import { kindWords, nameOf, passWords, stateWords, tookWords } from './words.ts';

export function TimelineTable({ timeline }: { timeline: Timeline }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
    <div class="scrolls" tabIndex={0}>
      <table class="facts-table">
        <caption class="visually-hidden">History, in order of start</caption>
        <thead>
          <tr>
            <th scope="col">Kind</th>
            <th scope="col">Name</th>
            <th scope="col">Started</th>
            <th scope="col">After</th>
            <th scope="col">Duration</th>
            <th scope="col">Outcome</th>
          </tr>
        </thead>
        <tbody>
          {timeline.rows.map((row) => (
            <tr key={row.id} data-state={row.state}>
              <td>{kindWords[row.kind]}</td>
              <th scope="row">
                {row.childId ? (
                  <a href={href({ view: 'task', id: row.childId })}>{row.label}</a>
                ) : (
                  nameOf(row)
                )}
              </th>
              <td>
                <Moment at={row.from} />
              </td>
              <td class="number">{duration(row.from - timeline.from)}</td>
              <td class="number">{tookWords(row, timeline.to)}</td>
              <td class="wordy">
                {row.passes ? row.passes.map(passWords).join('; ') : stateWords(row)}
                {row.call?.error && <span class="trouble-text">: {row.call.error}</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
