/** The timeline as a table: the same rows, for those who read rather than look. */
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
        <caption class="visually-hidden">What happened, in the order in which it began</caption>
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col">Name</th>
            <th scope="col">Began</th>
            <th scope="col">After</th>
            <th scope="col">Took</th>
            <th scope="col">How it went</th>
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
