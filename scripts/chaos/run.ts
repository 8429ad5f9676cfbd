/** One chaos run, from the first process to the checks. */
import { newId } from '../../src/model/id.ts';
import { openSqlite } from '../../src/sqlite.ts';
import { readSnapshot } from '../../test/techniques/chaos/snapshot.ts';
import { type Case, judge } from './judge.ts';
import { type Report, reportOf } from './report.ts';
import { readEvidence } from './step-file.ts';
import { type Progress, Supervisor } from './supervisor.ts';

export interface ChaosOptions {
  readonly file: string;
  /** An empty folder for the lines that the steps write. */
  readonly folder: string;
  readonly seed: number;
  readonly kills: number;
  readonly onProgress?: (progress: Progress) => void;
  /** Multiplies all time limits, for a slow machine. */
  readonly slowness?: number;
}

/** The results of a run, and the evidence for them. */
export interface Judged {
  readonly report: Report;
  readonly evidence: Case;
}

export async function unleash({
  file,
  folder,
  seed,
  kills,
  onProgress = () => {},
  slowness,
}: ChaosOptions): Promise<Judged> {
  const run = `chaos-${newId().slice(0, 12)}`;
  const database = await openSqlite(file);
  const supervisor = new Supervisor(database, { file, folder, run }, seed);
  try {
    await supervisor.disturb(kills, onProgress);
    await supervisor.finish();
    onProgress(supervisor.progress);
  } finally {
    await supervisor.close();
    await database.close();
  }
  const { workers, creations, responder } = supervisor;
  const evidence: Case = {
    run,
    acknowledged: creations.acknowledged,
    ordered: creations.ordered,
    evidence: readEvidence(folder),
    lives: workers.lives,
    restarts: workers.restarts,
    snapshot: readSnapshot(file),
    sentTo: (task, name) => responder.sentTo(task, name),
  };
  return { report: reportOf(seed, supervisor, judge(evidence, slowness)), evidence };
}
