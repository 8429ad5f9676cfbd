/**
 * Compares the journals with the files of steps. Pass numbers show without a clock whether a step ran after its entry
 * was committed: a line from a pass after the one that committed the entry is a repetition.
 */

import { batchIn } from '../../src/engine/replay/journal.ts';
import type { TaskId } from '../../src/index.ts';
import type { Commit, Snapshot } from '../../test/techniques/chaos/snapshot.ts';
import type { Problem } from './problem.ts';
import type { Evidence, StepLine } from './step-file.ts';

/** The pass in which something was committed, by the key of the step. */
interface Committed {
  readonly entries: ReadonlyMap<string, number>;
  /** By key and number of the attempt. */
  readonly attempts: ReadonlyMap<string, number>;
  readonly twice: readonly string[];
}

export function crossCheck(tasks: Iterable<TaskId>, snapshot: Snapshot, { lines }: Evidence): Problem[] {
  const problems: Problem[] = [];
  for (const task of tasks) {
    const committed = committedIn(task, snapshot.commits.get(task) ?? []);
    const own = lines.get(task) ?? [];
    const written = new Set(own.map(({ key }) => key));
    problems.push(
      ...committed.twice.map((key) => problem('repeated', task, `its journal has two entries for ${key}`)),
      ...own.flatMap((line) => problemOf(line, committed)),
      ...[...committed.entries.keys()]
        .filter((key) => !written.has(key))
        .map((key) => problem('lost', task, `its journal has an entry for ${key}, but no step wrote a line`)),
    );
  }
  return problems;
}

function problemOf(line: StepLine, { entries, attempts }: Committed): Problem[] {
  const { task, step, attempt, pass, key } = line;
  const committed = attempts.get(`${key} ${attempt}`) ?? entries.get(key);
  if (committed === undefined)
    return [problem('lost', task, `${step} ran as ${key}, but its journal has no entry for it`)];
  if (pass > committed)
    return [
      problem(
        'repeated',
        task,
        `${step} ran in pass ${pass}, but was already committed in pass ${committed}`,
      ),
    ];
  return [];
}

function committedIn(task: TaskId, commits: readonly Commit[]): Committed {
  const kinds: string[] = [];
  const entries = new Map<string, number>();
  const attempts = new Map<string, number>();
  const twice: string[] = [];
  let pass = 0;
  for (const { events, journal } of commits) {
    for (const event of events) if (event.type === 'claimed') pass = event.epoch;
    for (const record of journal ?? []) {
      // The first record has the arguments.
      if (!Array.isArray(record)) continue;
      const batch = batchIn(record);
      kinds.push(...batch.calls.map(({ kind }) => kind));
      for (const { call } of batch.entries) {
        if (kinds[call] !== 'step' && kinds[call] !== 'until') continue;
        const key = `${task}/${call}`;
        if (entries.has(key)) twice.push(key);
        entries.set(key, pass);
      }
      for (const { call } of batch.attempts) {
        const key = `${task}/${call}`;
        const attempt = [...attempts.keys()].filter((one) => one.startsWith(`${key} `)).length + 1;
        attempts.set(`${key} ${attempt}`, pass);
      }
    }
  }
  return { entries, attempts, twice };
}

function problem(kind: Problem['kind'], task: TaskId, text: string): Problem {
  return { kind, task, text };
}
