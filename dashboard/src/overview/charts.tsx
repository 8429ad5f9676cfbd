/** The two charts of the overview. For screen readers each has a summary and its numbers as a table. */

import type { OverviewReport } from '../../../src/operator/api.ts';
import type { EndedCounts } from '../../../src/ports/query.ts';
import { compact, count, duration, intervalOnAxis } from '../format.ts';
import { ChartFrame, type Plot } from './chart-frame.tsx';
import { countScale, durationScale } from './scale.ts';

type Outcome = keyof EndedCounts;

/** From the bottom up: failures are on the base line, where they can be compared. */
const layers: readonly Outcome[] = ['failed', 'lost', 'cancelled', 'completed'];

export function ThroughputChart({ report }: { report: OverviewReport }) {
  const { buckets, ended } = report;
  const totals = buckets.map((bucket) => layers.reduce((sum, layer) => sum + bucket[layer], 0));
  const scale = countScale(Math.max(0, ...totals));
  const lengthMs = (report.until - report.since) / Math.max(1, buckets.length);
  const present = layers.filter((layer) => layer === 'completed' || ended[layer] > 0).reverse();
  return (
    <ChartFrame
      report={report}
      scale={scale}
      tickText={compact}
      summary={`Finished tasks in ${buckets.length} intervals of ${duration(lengthMs)}: ${layers
        .toReversed()
        .map((layer) => `${count(ended[layer])} ${layer}`)
        .join(', ')}. The busiest interval has ${count(Math.max(0, ...totals))}.`}
      legend={present.map((layer) => ({ name: layer, mark: <span class="swatch" data-status={layer} /> }))}
      describe={(index) =>
        totals[index] === 0
          ? 'none finished'
          : layers
              .toReversed()
              .filter((layer) => buckets[index]![layer] > 0)
              .map((layer) => `${count(buckets[index]![layer])} ${layer}`)
              .join(', ')
      }
      columns={layers.toReversed()}
      cells={(index) => layers.toReversed().map((layer) => count(buckets[index]![layer]))}
    >
      {(plot) => layers.map((layer, depth) => <Layer key={layer} {...{ plot, layer, depth, buckets }} />)}
    </ChartFrame>
  );
}

interface LayerProps {
  readonly plot: Plot;
  readonly layer: Outcome;
  readonly depth: number;
  readonly buckets: OverviewReport['buckets'];
}

/** One path for all bars of a layer. */
function Layer({ plot, layer, depth, buckets }: LayerProps) {
  const gap = plot.step > 5 ? 1.5 : 0.5;
  const path = buckets.map((bucket, index) => {
    if (bucket[layer] === 0) return '';
    const below = layers.slice(0, depth).reduce((sum, lower) => sum + bucket[lower], 0);
    const bottom = plot.y(below);
    // A single failure among thousands must be visible.
    const top = Math.min(plot.y(below + bucket[layer]), bottom - 1.5);
    return `M${plot.x(index) + gap / 2},${bottom}V${top}h${plot.step - gap}V${bottom}z`;
  });
  return <path class="bars" data-status={layer} d={path.join('')} />;
}

const lines = [
  { name: 'median', key: 'medianMs' },
  { name: '95th percentile', key: 'p95Ms' },
] as const;

export function DurationsChart({ report }: { report: OverviewReport }) {
  const { buckets, ended } = report;
  const values = buckets
    .flatMap((bucket) => [bucket.medianMs, bucket.p95Ms])
    .filter((value) => value !== null);
  const scale = durationScale(Math.min(...values, Number.MAX_VALUE), Math.max(...values, 1));
  const text = (value: number | null) => (value === null ? '–' : duration(value));
  return (
    <ChartFrame
      report={report}
      scale={values.length === 0 ? durationScale(1_000, 60_000) : scale}
      tickText={(value) => duration(value).replace('.0', '')}
      summary={`Duration of completed and failed tasks: median ${text(ended.medianMs)}, 95th percentile ${text(ended.p95Ms)} over the whole time.`}
      legend={lines.map(({ name }) => ({ name, mark: <span class="line-swatch" data-line={name} /> }))}
      describe={(index) =>
        buckets[index]!.medianMs === null
          ? 'none finished'
          : lines.map(({ name, key }) => `${name} ${text(buckets[index]![key])}`).join(', ')
      }
      columns={lines.map(({ name }) => name)}
      cells={(index) => lines.map(({ key }) => text(buckets[index]![key]))}
    >
      {(plot) =>
        lines.map(({ name, key }) => (
          <path
            key={name}
            class="line"
            data-line={name}
            d={linePath(
              buckets.map((bucket) => bucket[key]),
              plot,
            )}
          />
        ))
      }
    </ChartFrame>
  );
}

/** Intervals without a value are gaps; a single value between two gaps is a short dash. */
function linePath(values: readonly (number | null)[], plot: Plot): string {
  return values
    .map((value, index) => {
      if (value === null) return '';
      const x = plot.x(index) + plot.step / 2;
      const before = values[index - 1] ?? null;
      const after = values[index + 1] ?? null;
      if (before === null && after === null) return `M${x - 2},${plot.y(value)}h4`;
      return `${before === null ? 'M' : 'L'}${x},${plot.y(value)}`;
    })
    .join('');
}

/** The time range of one interval: `14:05 – 14:06`. */
export function interval(report: OverviewReport, index: number): string {
  const axisMs = report.until - report.since;
  const length = axisMs / report.buckets.length;
  const from = report.since + index * length;
  return intervalOnAxis(from, from + length, axisMs, report.now);
}
