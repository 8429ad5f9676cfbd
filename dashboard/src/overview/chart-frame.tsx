/** Axes, a line with the values under the pointer, and the same numbers as a table. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { OverviewReport } from '../../../src/operator/api.ts';
import { onAxis } from '../format.ts';
import { Scroll } from '../parts/scroll.tsx';
import { interval } from './charts.tsx';
import type { Scale } from './scale.ts';

/** Maps values to pixels. */
export interface Plot {
  readonly step: number;
  x(index: number): number;
  y(value: number): number;
}

interface ChartFrameProps {
  readonly report: OverviewReport;
  readonly scale: Scale;
  readonly tickText: (value: number) => string;
  readonly summary: string;
  readonly legend: readonly { readonly name: string; readonly mark: ComponentChildren }[];
  readonly describe: (index: number) => string;
  readonly columns: readonly string[];
  readonly cells: (index: number) => readonly string[];
  readonly children: (plot: Plot) => ComponentChildren;
}

const height = 190;
const margin = { top: 8, right: 2, bottom: 22, left: 54 };

export function ChartFrame({
  report,
  scale,
  tickText,
  summary,
  legend,
  describe,
  columns,
  cells,
  children,
}: ChartFrameProps) {
  const box = useRef<HTMLDivElement>(null);
  const width = useSignal(600);
  const pointed = useSignal<number | undefined>(undefined);
  const isTableOpen = useSignal(false);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      width.value = Math.max(200, Math.round(entry!.contentRect.width));
    });
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, [width]);
  const { buckets } = report;
  const axisMs = report.until - report.since;
  const inner = {
    width: width.value - margin.left - margin.right,
    height: height - margin.top - margin.bottom,
  };
  const step = inner.width / Math.max(1, buckets.length);
  const plot: Plot = {
    step,
    x: (index) => margin.left + index * step,
    y: (value) => margin.top + inner.height * (1 - scale.at(value)),
  };
  const point = (event: PointerEvent) => {
    const left = event.clientX - box.current!.getBoundingClientRect().left;
    const index = Math.floor((left - margin.left) / step);
    pointed.value = index >= 0 && index < buckets.length ? index : undefined;
  };
  const index = pointed.value !== undefined && pointed.value < buckets.length ? pointed.value : undefined;
  const bottom = margin.top + inner.height;
  return (
    <div class="chart">
      <div
        ref={box}
        class="chart-box"
        onPointerMove={point}
        onPointerDown={point}
        onPointerLeave={() => {
          pointed.value = undefined;
        }}
      >
        <svg width={width.value} height={height} role="img" aria-label={summary}>
          {scale.ticks.map((tick) => (
            <g key={tick}>
              <line class="grid" x1={margin.left} x2={width.value} y1={plot.y(tick)} y2={plot.y(tick)} />
              <text class="axis" x={margin.left - 8} y={plot.y(tick)} dy="0.32em" text-anchor="end">
                {tickText(tick)}
              </text>
            </g>
          ))}
          {index !== undefined && (
            <rect class="pointed" x={plot.x(index)} y={margin.top} width={step} height={inner.height} />
          )}
          {children(plot)}
          {[0, 0.5, 1].map((part) => (
            <text
              key={part}
              class="axis"
              x={margin.left + inner.width * part}
              y={bottom + 16}
              text-anchor={part === 0 ? 'start' : part === 1 ? 'end' : 'middle'}
            >
              {onAxis(report.since + axisMs * part, axisMs)}
            </text>
          ))}
        </svg>
      </div>
      <div class="chart-foot">
        {index === undefined ? (
          <ul class="legend">
            {legend.map(({ name, mark }) => (
              <li key={name}>
                {mark}
                {name}
              </li>
            ))}
          </ul>
        ) : (
          <p class="readout number">
            <strong>{interval(report, index)}</strong> {describe(index)}
          </p>
        )}
      </div>
      <details
        class="chart-table"
        onToggle={(event) => {
          isTableOpen.value = event.currentTarget.open;
        }}
      >
        <summary>As a table</summary>
        {isTableOpen.value && (
          <Scroll label="Chart data">
            <table class="tools">
              <thead>
                <tr>
                  <th scope="col">Time</th>
                  {columns.map((column) => (
                    <th scope="col" key={column}>
                      {column}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {buckets.map((_, row) => (
                  <tr key={row}>
                    <th scope="row">{interval(report, row)}</th>
                    {cells(row).map((cell, column) => (
                      <td key={columns[column]}>{cell}</td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
        )}
      </details>
    </div>
  );
}
