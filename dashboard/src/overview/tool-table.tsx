import type { OverviewReport } from '../../../src/operator/api.ts';
import { count, duration } from '../format.ts';
import { Scroll } from '../parts/scroll.tsx';
import { everything, href, type Span, spans } from '../router.ts';

const maxTools = 50;

export function ToolTable({ tools, window }: { tools: OverviewReport['tools']; window: Span }) {
  const shown = tools.slice(0, maxTools);
  return (
    <section class="card tool-card" aria-labelledby="tools-title">
      <div class="card-head">
        <h2 id="tools-title">Tools</h2>
        <p class="card-note">
          live now, finished in the last {spans[window].name}
          {shown.length < tools.length && `; the ${maxTools} busiest of ${count(tools.length)}`}
        </p>
      </div>
      <Scroll label="Table of tools">
        <table class="tools">
          <thead>
            <tr>
              <th scope="col">Tool</th>
              <th scope="col">Queued</th>
              <th scope="col">Running</th>
              <th scope="col">Waiting</th>
              <th scope="col">Completed</th>
              <th scope="col">Failed or lost</th>
              <th scope="col">Median</th>
              <th scope="col">95th percentile</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => (
              <tr key={row.tool}>
                <th scope="row">
                  <a href={href({ view: 'tasks', filter: { ...everything, tool: row.tool } })}>{row.tool}</a>
                </th>
                <Cell value={row.queued} />
                <Cell value={row.running} />
                <Cell value={row.waiting} />
                <Cell value={row.completed} />
                <Cell value={row.failed + row.lost} isBad />
                <td>{row.medianMs === null ? '–' : duration(row.medianMs)}</td>
                <td>{row.p95Ms === null ? '–' : duration(row.p95Ms)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}

function Cell({ value, isBad = false }: { value: number; isBad?: boolean }) {
  return (
    <td data-zero={value === 0 ? '' : undefined} data-bad={isBad && value > 0 ? '' : undefined}>
      {count(value)}
    </td>
  );
}
