/** What all processes together acknowledged, and whether the database still knows it. */
import { isDeepStrictEqual } from 'node:util';
import type { TaskId } from '../../../src/model/task.ts';
import { Counts } from '../../kit/counts.ts';
import type { AcknowledgedWrite, Line } from './acknowledgement.ts';
import type { Snapshot } from './snapshot.ts';

export class Ledger {
  readonly writes: AcknowledgedWrite[] = [];
  readonly removed = new Set<TaskId>();
  readonly refusals = new Counts();
  readonly failures: string[] = [];
  openings = 0;
  readonly #keyed: Extract<Line, { kind: 'keyed' }>[] = [];
  readonly #read: Extract<Line, { kind: 'read' }>[] = [];

  readonly hear = (line: Line): void => {
    if (line.kind === 'ready') this.openings++;
    else if (line.kind === 'keyed') this.#keyed.push(line);
    else if (line.kind === 'read') this.#read.push(line);
    else if (line.kind === 'refused') this.refusals.add(line.name);
    else if (line.kind === 'failed') this.failures.push(line.error);
    else if (line.kind === 'committed') {
      this.writes.push(...line.writes);
      for (const id of line.removed) this.removed.add(id);
    }
  };

  /** What was acknowledged and is not there, in sentences; empty if all is well. */
  missingFrom(snapshot: Snapshot): string[] {
    const missing = this.writes.flatMap((write) => problemsOfWrite(write, snapshot));
    // Two acknowledgements of one version would mean that two processes both believed to have made it.
    const versions = new Counts();
    for (const { id, version } of this.writes)
      if (versions.add(`${id} ${version}`) === 2)
        missing.push(`${id}: version ${version} was acknowledged twice`);
    for (const id of this.removed) if (snapshot.tasks.has(id)) missing.push(`${id}: is back after its purge`);
    for (const { id, version, outcome } of this.#read) {
      if (snapshot.removals.has(id)) continue;
      const task = snapshot.tasks.get(id);
      if (!task || task.version < version) missing.push(`${id}: version ${version} was read and is gone`);
      else if (outcome && !isDeepStrictEqual(task.phase === 'done' && task.outcome, outcome))
        missing.push(`${id}: was read as done with another outcome`);
    }
    for (const { key, id } of this.#keyed) {
      if (snapshot.tasks.get(id)?.idempotency?.key !== key)
        missing.push(`${id}: does not bear the key "${key}"`);
    }
    return missing;
  }
}

function problemsOfWrite(write: AcknowledgedWrite, { tasks, commits, removals }: Snapshot): string[] {
  const { id, version, events, journal, responses, outcome } = write;
  if (removals.has(id)) return [];
  const told = events.map(({ type }) => type).join(', ');
  const task = tasks.get(id);
  if (!task) return [`${id}: is gone, though version ${version} (${told}) was acknowledged`];
  const problems: string[] = [];
  const kept = commits.get(id)?.find((commit) => commit.version === version);
  if (!kept || !isDeepStrictEqual([kept.events, kept.journal], [events, journal]))
    problems.push(`${id}: version ${version} (${told}) is not there as it was acknowledged`);
  for (const [key, response] of Object.entries(responses)) {
    const input = task.inputs.find((one) => one.key === key);
    if (input?.state !== 'answered' || !isDeepStrictEqual(input.response, response))
      problems.push(`${id}: the answer to "${key}" is not there as it was acknowledged`);
  }
  if (
    outcome &&
    (task.phase !== 'done' || task.version !== version || !isDeepStrictEqual(task.outcome, outcome))
  )
    problems.push(`${id}: its end in version ${version} is not there as it was acknowledged`);
  return problems;
}
