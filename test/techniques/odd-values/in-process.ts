/** Runs cases in a process of its own. */
import { join } from 'node:path';
import type { Outcome } from 'holdfast';
import { Program, sources } from '../../kit/process.ts';

export interface Case {
  readonly value: string;
  readonly way: string;
}

interface Ended extends Case {
  readonly outcome: Outcome;
  /** How the task ended that ran next to it. */
  readonly neighbour: string;
}

export type Ending = Awaited<ReturnType<typeof runCases>>;

/** A process that hangs is ended: what is missing then shows. */
const options = { timeout: 500_000, killSignal: 'SIGKILL' } as const;

export async function runCases(cases: readonly Case[], store = 'memory:') {
  const program = new Program(sources(join(import.meta.dirname, 'process.ts')), options);
  program.child.stdin!.end(JSON.stringify({ store, cases }));
  await program.exit;
  const told = program.output
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
  /** Whether the process came to its own end. */
  const survived: boolean = told.at(-1)?.over === true;
  const ended: readonly Ended[] = survived ? told.slice(0, -1) : told;
  return { ended, survived, complaints: program.complaints.slice(0, 2_000) };
}

/** What the task says went wrong; undefined if nothing did. */
export function complaintOf(outcome: Outcome): string | undefined {
  if (outcome.kind === 'failure') return outcome.message;
  if (outcome.kind !== 'result') return outcome.kind;
  const { content } = outcome.value as { content?: { text?: string }[] };
  return outcome.isError ? String(content?.[0]?.text) : undefined;
}
