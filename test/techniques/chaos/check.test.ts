/** The checks of this folder are worth nothing unless they complain: here they are shown what is not in order. */
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeAll, describe, expect, test } from 'vitest';
import type { TaskEvent } from '../../../src/model/event.ts';
import type { CommittedChange, Store } from '../../../src/ports/store.ts';
import { Child } from '../../kit/child.ts';
import { temporaryFile, temporaryFolder } from '../../kit/lifetime.ts';
import type { Line } from './acknowledgement.ts';
import { problemsIn, problemsOf } from './check.ts';
import { Ledger } from './ledger.ts';
import { Observer } from './observer.ts';
import { readSnapshot } from './snapshot.ts';

const folder = temporaryFolder();
const sound = join(folder, 'tasks.db');
const lines: Line[] = [];

beforeAll(async () => {
  const worker = new Child<Line>(
    'techniques/chaos/worker.ts',
    { file: sound, seed: 1, commits: 1_200 },
    (line) => lines.push(line),
  );
  expect(await worker.exit).toEqual({ code: 0, signal: null });
});

test('a database after ordinary work is in order', () => {
  const snapshot = readSnapshot(sound);
  expect(snapshot.tasks.size).toBeGreaterThan(50);
  expect(problemsOf(snapshot)).toEqual([]);
  expect(ledgerOf(lines).missingFrom(snapshot)).toEqual([]);
});

describe('the check of a database complains of', () => {
  const anEnded = "select seq from tasks where body ->> 'phase' = 'done' and body ->> 'version' > 4 limit 1";
  const aLiveOne = "select seq from tasks where body ->> 'phase' = 'running' and worker is null limit 1";
  const aDoneChild = `select child.seq from tasks child join tasks parent on parent.id = child.parent_id
    where parent.body ->> 'phase' = 'done' limit 1`;
  const anAnswered = `select seq from tasks where body ->> '$.inputs[0].state' = 'answered'
    and body ->> 'phase' <> 'waiting' limit 1`;

  const tampered: readonly [title: string, sql: string, complaint: RegExp][] = [
    [
      'a done parent over a living subtask',
      `update tasks set body = json_set(json_remove(body, '$.outcome'), '$.phase', 'running') where seq = (${aDoneChild})`,
      /is done over 1 living subtasks/,
    ],
    [
      'a version that is missing',
      `delete from commits where task = (${anEnded}) and version = 3`,
      /its commits have the versions 1, 2, 4/,
    ],
    [
      'a version that is there twice',
      `insert into commits (task, version, at, events) select task, version, at, '[]' from commits
       where task = (${anEnded}) and version = 3`,
      /its commits have the versions/,
    ],
    [
      'a parent whose subtask is gone',
      `delete from tasks where seq = (${aDoneChild})`,
      /counts \d+ subtasks and has \d+/,
    ],
    ['commits without a task', `delete from tasks where seq = (${anEnded})`, /belongs to no task/],
    [
      'a wrong count of living subtasks',
      `update tasks set body = json_set(body, '$.liveChildCount', 7) where seq = (${aLiveOne})`,
      /counts 7 living subtasks/,
    ],
    [
      'an open question on a task that does not wait',
      `update tasks set body = json_set(body, '$.inputs[0].state', 'open') where seq = (${anAnswered})`,
      /with 1 open inputs/,
    ],
    [
      'a key that was used twice',
      `update tasks set body = json_insert(body, '$.inputs[#]', body -> '$.inputs[0]') where seq = (${anAnswered})`,
      /uses an input key twice/,
    ],
    [
      'a done task that could still be claimed',
      `update tasks set wake_at = 1 where seq = (${anEnded})`,
      /its column wake_at says 1, its body null/,
    ],
    [
      'a worker without a lease',
      `update tasks set worker = 'someone' where seq = (${aLiveOne})`,
      /has a worker or a lease, not both/,
    ],
    [
      'a claim that its story does not tell of',
      `update tasks set epoch = epoch + 1, body = json_set(body, '$.epoch', epoch + 1) where seq = (${aLiveOne})`,
      /its story tells of epochs/,
    ],
    [
      'a change after the end',
      `insert into commits (task, version, at, events)
         select seq, body ->> 'version' + 1, 1, '[{"type":"released"}]' from tasks where seq = (${anEnded});
       update tasks set body = json_set(body, '$.version', body ->> 'version' + 1) where seq = (${anEnded})`,
      /its story tells of last event "released"/,
    ],
    [
      'a task that nothing will ever wake',
      `update tasks set wake_at = null, body = json_set(body, '$.wakeAt', null, '$.liveChildCount', 0)
       where seq = (${aLiveOne})`,
      /nothing will ever wake it/,
    ],
    [
      'a task that came back after its removal',
      `insert into commits (removed_id, version, at, events)
       select id, 99, 1, '[{"type":"removed"}]' from tasks limit 1`,
      /is there though it was removed/,
    ],
  ];

  test.for(tampered)('%s', ([, sql, complaint]) => {
    expect(problemsIn(tamperedWith(sql)).join('\n')).toMatch(complaint);
  });
});

describe('the ledger complains when', () => {
  /** The last acknowledged change with such an event, on a task that is still there. */
  const find = (type: TaskEvent['type']) => {
    const { tasks } = readSnapshot(sound);
    return ledgerOf(lines).writes.findLast(
      ({ id, events }) => tasks.has(id) && events.some((event) => event.type === type),
    )!;
  };
  const missing = (sql: string) =>
    ledgerOf(lines)
      .missingFrom(readSnapshot(tamperedWith(sql)))
      .join('\n');

  test('an acknowledged task is gone', () => {
    const { id } = find('created');
    expect(missing(`delete from tasks where id = '${id}'`)).toContain(`${id}: is gone`);
  });

  test('an acknowledged answer is gone', () => {
    const { id } = find('answered');
    const sql = `update tasks set body = json_set(body, '$.inputs', json('[]')) where id = '${id}'`;
    expect(missing(sql)).toMatch(`${id}: the answer to`);
  });

  test('an acknowledged end has changed', () => {
    const { id } = find('finished');
    const sql = `update tasks set body = json_set(body, '$.outcome.kind', 'lost') where id = '${id}'`;
    expect(missing(sql)).toContain(`${id}: its end`);
  });

  test('an acknowledged journal entry is gone', () => {
    const { id, version } = find('recorded');
    const sql = `update commits set journal = null where version = ${version}
      and task = (select seq from tasks where id = '${id}')`;
    expect(missing(sql)).toContain(`${id}: version ${version} (recorded) is not there`);
  });

  test('two processes were told of the same version', () => {
    const twice = [...lines, lines.find((line) => line.kind === 'committed')!];
    expect(ledgerOf(twice).missingFrom(readSnapshot(sound)).join()).toContain('was acknowledged twice');
  });

  test('a purged task is back', () => {
    const [id] = readSnapshot(sound).tasks.keys();
    const purged: Line = { kind: 'committed', writes: [], removed: [id!] };
    expect(ledgerOf([...lines, purged]).missingFrom(readSnapshot(sound))).toEqual([
      `${id}: is back after its purge`,
    ]);
  });
});

describe('the observer complains of', () => {
  test('a version that it was not told of', () => {
    expect(toldOf([1, 2, 4])).toEqual(['a: version 4 was told after version 2']);
  });

  test('a version that it was told of twice', () => {
    expect(toldOf([1, 2, 2])).toEqual(['a: version 2 was told after version 2']);
  });

  test('versions out of order', () => {
    expect(toldOf([1, 3, 2])).not.toEqual([]);
  });

  test('nothing, if all versions come in order', () => {
    expect(toldOf([1, 2, 3])).toEqual([]);
  });

  function toldOf(versions: readonly number[]): string[] {
    let tell: (notice: CommittedChange) => void = () => {};
    const observer = new Observer({
      subscribe: (listener) => {
        tell = listener;
        return () => {};
      },
    } as Store);
    for (const version of versions)
      tell({ taskId: 'a', rootId: 'a', version, at: 0, events: [{ type: 'released' }] });
    return observer.problems;
  }
});

function ledgerOf(heard: readonly Line[]): Ledger {
  const ledger = new Ledger();
  heard.forEach(ledger.hear);
  return ledger;
}

function tamperedWith(sql: string): string {
  const file = temporaryFile();
  copyFileSync(sound, file);
  const db = new DatabaseSync(file);
  const changes = () => (db.prepare('select total_changes() as n').get() as { n: number }).n;
  db.exec(sql);
  expect(changes()).toBeGreaterThan(0);
  db.close();
  return file;
}
