/**
 * The evidence of steps: one file per task and one line per attempt, written before the step returns. The checks use
 * these lines, not the engine's own records.
 */
import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Json, TaskId } from '../../src/index.ts';

export interface StepLine {
  readonly task: TaskId;
  /** The step's label. Steps of the same name in parallel branches have different labels. */
  readonly step: string;
  readonly attempt: number;
  readonly pass: number;
  readonly pid: number;
  /** The idempotency key from the engine. */
  readonly key: string;
  readonly at: number;
  readonly value: StepValue;
}

export interface StepValue {
  /** Unique in every line: identifies the attempt whose value a handler received. */
  readonly nonce: string;
  readonly [more: string]: Json;
}

export interface Evidence {
  readonly lines: ReadonlyMap<TaskId, readonly StepLine[]>;
  readonly unreadable: readonly string[];
}

/** Appends with one write, so a line is written completely or not at all. */
export function appendLine(folder: string, line: StepLine): void {
  appendFileSync(join(folder, line.task), `${toText(line)}\n`);
}

export function readEvidence(folder: string): Evidence {
  const lines = new Map<TaskId, StepLine[]>();
  const unreadable: string[] = [];
  for (const task of readdirSync(folder)) {
    const texts = readFileSync(join(folder, task), 'utf8').split('\n');
    const rest = texts.pop();
    if (rest) unreadable.push(`${task}: its file ends with half a line, "${rest}"`);
    const own: StepLine[] = [];
    for (const text of texts) {
      const line = fromText(text);
      if (line?.task === task) own.push(line);
      else unreadable.push(`${task}: its file has a line that no step wrote, "${text}"`);
    }
    lines.set(task, own);
  }
  return { lines, unreadable };
}

function toText({ task, step, attempt, pass, pid, key, at, value }: StepLine): string {
  return `${task} ${step} ${attempt} ${pass} ${pid} ${key} ${at} ${JSON.stringify(value)}`;
}

function fromText(text: string): StepLine | undefined {
  const parts = /^(\S+) (\S+) (\d+) (\d+) (\d+) (\S+) (\d+) (\{.*\})$/.exec(text);
  if (!parts) return undefined;
  const [, task = '', step = '', attempt, pass, pid, key = '', at, value = ''] = parts;
  try {
    const numbers = { attempt: Number(attempt), pass: Number(pass), pid: Number(pid), at: Number(at) };
    return { task, step, ...numbers, key, value: JSON.parse(value) };
  } catch {
    return undefined;
  }
}
