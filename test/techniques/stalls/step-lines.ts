/** What steps write outside the store when they begin and end: the evidence of the tests in this folder. */
import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TaskId } from '../../../src/index.ts';

export interface StepLine {
  readonly what: 'began' | 'ended';
  readonly task: TaskId;
  readonly pid: number;
  readonly pass: number;
  /** Milliseconds on the monotonic clock, which all processes of the machine share. */
  readonly at: number;
}

export function moment(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}

export function writeLine(folder: string, line: Pick<StepLine, 'what' | 'task' | 'pass'>): void {
  const { pid } = process;
  appendFileSync(join(folder, `${pid}.jsonl`), `${JSON.stringify({ ...line, pid, at: moment() })}\n`);
}

/** All lines, in the order of time. A process that was killed while it wrote may have left half a line. */
export function readLines(folder: string): StepLine[] {
  const files = readdirSync(folder).filter((file) => file.endsWith('.jsonl'));
  const texts = files.flatMap((file) => readFileSync(join(folder, file), 'utf8').split('\n').slice(0, -1));
  return texts.map((text) => JSON.parse(text) as StepLine).toSorted((a, b) => a.at - b.at);
}

/** Steps that hold their task end when this file is there. */
export function releaseFile(folder: string): string {
  return join(folder, 'released');
}

/** What a task returned: the pass whose attempt at the step was committed. */
export interface Returned {
  readonly pid: number;
  readonly pass: number;
}

/**
 * Judges the lines of steps that each ran once unless their process stalled. `stalled` are the processes that others
 * may take tasks from.
 */
export function stepProblems(
  lines: readonly StepLine[],
  returned: ReadonlyMap<TaskId, Returned | undefined>,
  stalled: ReadonlySet<number> = new Set(),
): string[] {
  const problems: string[] = [];
  for (const [task, result] of returned) {
    const begun = lines.filter((line) => line.task === task && line.what === 'began');
    for (const [index, next] of begun.slice(1).entries()) {
      const before = begun[index]!;
      const ended = lines.find(
        ({ what, pid, pass }) => what === 'ended' && pid === before.pid && pass === before.pass,
      );
      if (begun.slice(0, index + 1).some(({ pid }) => pid === next.pid))
        problems.push(
          `${task}: its step began in pass ${before.pass} and again, in the same process ${next.pid}, in pass ${next.pass}`,
        );
      else if (!stalled.has(before.pid))
        problems.push(
          `${task}: process ${next.pid} took it from the healthy process ${before.pid}${ended ? '' : ', which never ended the step'}`,
        );
    }
    const last = begun.at(-1);
    if (!last) problems.push(`${task}: its step never began`);
    else if (!result) problems.push(`${task}: it did not end with a result`);
    else if (result.pid !== last.pid || result.pass !== last.pass)
      problems.push(
        `${task}: the result of pass ${result.pass} in ${result.pid} was committed, though pass ${last.pass} had begun in ${last.pid}`,
      );
  }
  return problems;
}
