/**
 * Runs cases in a process of its own, in which nobody catches what escapes; as a program, that process: it reads the
 * cases from its input, runs every odd value in the given ways, and tells how each task ended.
 */
import { json } from 'node:stream/consumers';
import { createTasks, type Outcome } from 'holdfast';
import { postgres } from 'holdfast/postgres';
import { sqlite } from 'holdfast/sqlite';
import { inLanes } from '../../kit/lanes.ts';
import { Program, sources } from '../../kit/process.ts';
import { neighbour, odd, tools } from './tools.ts';

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
  const program = new Program(sources(import.meta.filename), options);
  program.child.stdin!.end(JSON.stringify({ store, cases }));
  await program.exit;
  const told = program.output
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
  const survived: boolean = told.at(-1)?.over === true;
  const ended: readonly Ended[] = survived ? told.slice(0, -1) : told;
  return { ended, survived, complaints: program.complaints.slice(0, 2_000) };
}

export function complaintOf(outcome: Outcome): string | undefined {
  if (outcome.kind === 'failure') return outcome.message;
  if (outcome.kind !== 'result') return outcome.kind;
  const { content } = outcome.value as { content?: { text?: string }[] };
  return outcome.isError ? String(content?.[0]?.text) : undefined;
}

if (import.meta.main) {
  const { store, cases } = (await json(process.stdin)) as { store: string; cases: readonly Case[] };
  const tasks = createTasks({ store: store === 'memory:' ? sqlite(store) : postgres(store), tools });
  // Huge values block the event loop of a busy machine for long. That is not what is examined here.
  await tasks.work({ concurrency: 16, watchdog: 'off' });
  await inLanes(cases, 12, async (input) => {
    const beside = await tasks.create(neighbour);
    const { id } = await tasks.create(odd, input);
    const outcome = await tasks.outcome(id);
    const { kind } = await tasks.outcome(beside.id);
    console.log(JSON.stringify({ ...input, outcome, neighbour: kind }));
  });
  await tasks.close();
  console.log(JSON.stringify({ over: true }));
}
