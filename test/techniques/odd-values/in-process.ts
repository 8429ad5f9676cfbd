/** Runs cases in a process of its own. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Outcome } from 'holdfast';

export interface Case {
  readonly value: string;
  readonly way: string;
}

export interface Ended extends Case {
  readonly outcome: Outcome;
  /** How the task ended that ran next to it. */
  readonly neighbour: string;
}

export interface Ending {
  readonly ended: readonly Ended[];
  /** Whether the process came to its own end. */
  readonly survived: boolean;
  readonly complaints: string;
}

/** A process that hangs is ended: what is missing then shows. */
const longestMs = 500_000;

export async function runCases(cases: readonly Case[], store = 'memory:'): Promise<Ending> {
  const child = spawn(
    process.execPath,
    ['--conditions=holdfast-source', join(import.meta.dirname, 'process.ts')],
    { stdio: ['pipe', 'pipe', 'pipe'], timeout: longestMs, killSignal: 'SIGKILL' },
  );
  let complaints = '';
  child.stderr.on('data', (chunk) => {
    complaints += chunk;
  });
  child.stdin.end(JSON.stringify({ store, cases }));
  const ended: Ended[] = [];
  let survived = false;
  for await (const line of createInterface(child.stdout)) {
    const told = JSON.parse(line);
    if (told.over) survived = true;
    else ended.push(told);
  }
  return { ended, survived, complaints: complaints.slice(0, 2_000) };
}

/** What the task says went wrong; undefined if nothing did. */
export function complaintOf(outcome: Outcome): string | undefined {
  if (outcome.kind === 'failure') return outcome.message;
  if (outcome.kind !== 'result') return outcome.kind;
  const { content } = outcome.value as { content?: { text?: string }[] };
  return outcome.isError ? String(content?.[0]?.text) : undefined;
}
