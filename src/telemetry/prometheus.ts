/** The text format of Prometheus, version 0.0.4. */
import type { Count, Durations, Gauge, Labels } from './counts.ts';

export function prometheusText(
  counts: readonly Count[],
  durations: readonly Durations[],
  gauges: readonly Gauge[],
): string {
  const lines = [...counts.flatMap(ofCount), ...durations.flatMap(ofDurations), ...gauges.flatMap(ofGauge)];
  return `${lines.join('\n')}\n`;
}

function ofCount({ name, help, values }: Count): string[] {
  const metric = `${underscored(name)}_total`;
  const rows = [...values].map(({ labels, value }) => line(metric, labels, value));
  // What has not happened yet is told as well, or nobody could tell it from what is not counted.
  return [...opening(metric, help, 'counter'), ...(rows.length > 0 ? rows : [line(metric, {}, 0)])];
}

function ofDurations({ name, help, bounds, values }: Durations): string[] {
  const metric = `${underscored(name)}_seconds`;
  const rows = [...values].flatMap(({ labels, buckets, sum, count }) => {
    let below = 0;
    const counted = bounds.map((bound, place) => {
      below += buckets[place]!;
      return line(`${metric}_bucket`, { ...labels, le: String(bound) }, below);
    });
    return [
      ...counted,
      line(`${metric}_bucket`, { ...labels, le: '+Inf' }, count),
      line(`${metric}_sum`, labels, sum),
      line(`${metric}_count`, labels, count),
    ];
  });
  return [...opening(metric, help, 'histogram'), ...rows];
}

function ofGauge({ name, help, value }: Gauge): string[] {
  const metric = underscored(name);
  return [...opening(metric, help, 'gauge'), line(metric, {}, value)];
}

function opening(metric: string, help: string, type: string): string[] {
  return [`# HELP ${metric} ${help}`, `# TYPE ${metric} ${type}`];
}

function line(metric: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([name, text]) => `${name}="${escaped(text)}"`);
  return `${metric}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function underscored(name: string): string {
  return name.replaceAll('.', '_');
}
