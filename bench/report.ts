/** The findings of a suite, for people and for files, without data about the machine's owner. */
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import type { Timing } from './measure.ts';

export interface Suite {
  readonly name: string;
  run(options: { readonly quick: boolean }): Promise<Findings>;
}

export interface Findings {
  readonly comparisons: readonly Comparison[];
  readonly rates: readonly Rate[];
  readonly shares?: readonly Share[];
  readonly tables?: readonly Table[];
  readonly targets: readonly Target[];
}

/** The same operation on Holdfast and on its baseline. */
export interface Comparison {
  readonly what: string;
  /** How many tasks were stored. */
  readonly stored: number;
  readonly holdfast: Timing;
  readonly baseline: Timing;
}

export interface Rate {
  readonly what: string;
  readonly stored: number;
  readonly perSecond: number;
}

/** The CPU use of a part of the system during the measurement. */
export interface Share {
  readonly what: string;
  readonly part: string;
  readonly percent: number;
}

/** A table of other figures. The first column names the row. */
export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number | undefined)[])[];
}

export interface Target {
  readonly what: string;
  readonly measured: number;
  readonly atMost?: number;
  readonly atLeast?: number;
  /** The unit, unless it is a ratio. */
  readonly unit?: string;
}

export function ratio({ holdfast, baseline }: Comparison): number {
  return holdfast.p50 / baseline.p50;
}

export function count(tasks: number): string {
  return tasks.toLocaleString('en');
}

export function holds({ measured, atMost = Infinity, atLeast = -Infinity }: Target): boolean {
  return measured <= atMost && measured >= atLeast;
}

export function printed(name: string, { comparisons, rates, shares, tables, targets }: Findings): string {
  return [
    `${name} (${availableParallelism()} CPUs, Node ${process.versions.node})`,
    ...section([
      ['µs', 'stored', 'holdfast p50', 'p99', 'baseline p50', 'p99', 'ratio of p50'],
      ...comparisons.map((one) => [
        one.what,
        count(one.stored),
        one.holdfast.p50.toFixed(1),
        one.holdfast.p99.toFixed(1),
        one.baseline.p50.toFixed(1),
        one.baseline.p99.toFixed(1),
        `${ratio(one).toFixed(2)}×`,
      ]),
    ]),
    ...section([
      ['rates', 'stored', 'per second'],
      ...rates.map(({ what, stored, perSecond }) => [what, count(stored), count(Math.round(perSecond))]),
    ]),
    ...section([
      ['CPU', 'part', '% of one'],
      ...(shares ?? []).map(({ what, part, percent }) => [what, part, percent.toFixed(0)]),
    ]),
    ...(tables ?? []).flatMap(({ columns, rows }) => section([columns, ...rows.map((row) => row.map(cell))])),
    ...section([
      ['targets', 'limit', 'measured', ''],
      ...targets.map((target) => [
        target.what,
        target.atMost === undefined
          ? `≥ ${target.atLeast}${unitOf(target)}`
          : `≤ ${target.atMost}${unitOf(target)}`,
        `${target.measured.toFixed(2)}${unitOf(target)}`,
        holds(target) ? 'holds' : 'MISSED',
      ]),
    ]),
  ].join('\n\n');
}

function unitOf({ unit }: Target): string {
  return unit === undefined ? '×' : ` ${unit}`;
}

/** Empty if there are no rows. */
function section(rows: readonly (readonly string[])[]): string[] {
  return rows.length > 1 ? [aligned(rows)] : [];
}

function cell(value: string | number | undefined): string {
  if (value === undefined) return '–';
  if (typeof value === 'string') return value;
  return value.toLocaleString('en', { maximumFractionDigits: value < 100 ? 2 : 0 });
}

function aligned(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row.map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!),
      ),
    )
    .map((cells) => `  ${cells.join('  ')}`.trimEnd())
    .join('\n');
}

/** Keeps the results of the suites that did not run this time. */
export function save(
  file: string,
  name: string,
  { comparisons, rates, shares, tables, targets }: Findings,
): void {
  const results = {
    ...readResults(file),
    [name]: {
      date: new Date().toISOString().slice(0, 10),
      node: process.versions.node,
      cpus: availableParallelism(),
      unit: 'microseconds',
      comparisons: comparisons.map((one) => ({ ...one, ratioOfP50: ratio(one) })),
      rates,
      ...(shares && { shares }),
      ...(tables && { tables }),
      targets: targets.map((target) => ({ ...target, holds: holds(target) })),
    },
  };
  const rounded = (_key: string, value: unknown) =>
    typeof value === 'number' ? Number(value.toFixed(2)) : value;
  writeFileSync(file, `${JSON.stringify(results, rounded, 2)}\n`);
}

function readResults(file: string): Record<string, unknown> {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return {};
  }
}
