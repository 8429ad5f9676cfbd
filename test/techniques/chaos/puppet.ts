/** A child process that does what it is told, one command a line, and answers each with a line. */
import { closeSync, existsSync, openSync, writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { complete, create, record, release } from '../../../src/engine/rules/transitions.ts';
import { claimTasks } from '../../../src/engine/worker/claiming.ts';
import type { Json } from '../../../src/index.ts';
import { hasCode } from '../../../src/model/errors.ts';
import { newId } from '../../../src/model/id.ts';
import { type CrashPoint, onCrashPoint } from '../../../src/ports/crash-point.ts';
import { openSqlite, type SqliteDatabase } from '../../../src/sqlite.ts';
import type { Change, Claim } from '../../../src/store.ts';
import { aTask } from '../../../src/store-testing.ts';
import { joinInstances } from '../../../src/stores/sqlite/queue/process-liveness.ts';
import { obey } from '../../kit/child.ts';
import { committed, say } from './acknowledgement.ts';
import { tools } from './load.ts';
import { Observer } from './observer.ts';

const { file }: { readonly file: string } = JSON.parse(process.argv[2]!);

let database: SqliteDatabase;

const commands = {
  async open(): Promise<void> {
    database = await openSqlite(file);
  },

  async close(): Promise<void> {
    await database.close();
  },

  async create(count: number): Promise<string[]> {
    const requests = Array.from({ length: count }, () => aTask({ owner: 'carol' }));
    const make = (request: (typeof requests)[number]) =>
      database.store.create(undefined, () => create(undefined, request, Date.now()));
    return (await Promise.all(requests.map(make))).map(({ task }) => task.id);
  },

  /** What it claims gets somewhere: if it did not, it would rest when its process dies. */
  async claim(limit: number, leaseMs: number): Promise<Claim[]> {
    const claimed = await claimTasks(database, { tools, limit, leaseMs, now: Date.now });
    const claims = claimed.map(({ claim }) => claim);
    await Promise.all(claims.map((claim) => commands.record(claim, ['claimed'])));
    return claims;
  },

  async record(claim: Claim, journal: Json[]): Promise<Change> {
    return database.store.update('task', claim.taskId, (task) => record(task, claim, journal, Date.now()));
  },

  async complete(claim: Claim, value: Json): Promise<void> {
    await database.store.update('lineage', claim.taskId, (around) =>
      complete(around, claim, { kind: 'result', isError: false, value }, Date.now()),
    );
  },

  async renew(claims: Claim[], leaseMs: number): Promise<Claim[]> {
    return database.queue.renew(claims, leaseMs);
  },

  async keepRenewing(claims: Claim[], leaseMs: number, everyMs: number): Promise<void> {
    setInterval(() => void commands.renew(claims, leaseMs), everyMs);
  },

  async recordMany(claim: Claim, count: number, pauseMs: number): Promise<void> {
    for (let n = 1; n <= count; n++) {
      say(committed(await commands.record(claim, [{ n, at: Date.now() }])));
      await pause(pauseMs);
    }
  },

  /** Stops this process, as SIGSTOP from outside would, when it next comes by. */
  async stopAt(place: CrashPoint): Promise<void> {
    onCrashPoint((name) => {
      if (name !== place) return;
      onCrashPoint(undefined);
      process.kill(process.pid, 'SIGSTOP');
    });
  },

  /** Makes tasks with large arguments, which go into the write-ahead log. */
  async fillLog(megabytes: number): Promise<void> {
    for (let n = 0; n < megabytes; n++) {
      const request = aTask({ owner: 'carol', arguments: { padding: 'x'.repeat(2 ** 20) } });
      await database.store.create(undefined, () => create(undefined, request, Date.now()));
    }
  },

  /**
   * Leaves the index of the log as a process does that is killed while it writes the index's first lines. Only
   * for a puppet that does not have the database open: closing the file would drop all of its locks.
   */
  async tearLogIndex(): Promise<void> {
    const index = openSync(`${file}-shm`, 'r+');
    writeSync(index, 'torn', 16);
    closeSync(index);
  },

  /** Listens to every commit, and says so when something was heard out of order. */
  async observe(): Promise<void> {
    const observer = new Observer(database.store, () => {
      if (observer.problems.length > 0) say({ kind: 'failed', error: observer.problems.join('; ') });
    });
  },

  async comeAndGo(times: number): Promise<string[]> {
    const made: string[] = [];
    for (let n = 0; n < times; n++) {
      await commands.open();
      made.push(...(await commands.create(1)));
      await commands.close();
    }
    return made;
  },

  async useUpFiles(): Promise<number> {
    for (let files = 0; ; files++) {
      try {
        openSync('/dev/null', 'r');
      } catch {
        return files;
      }
    }
  },

  /** Joins and leaves again and again. Counts how often the lock had no name any more when it was taken. */
  async joinAndLeave(times: number): Promise<number> {
    let nameless = 0;
    for (let n = 0; n < times; n++) {
      const instance = joinInstances(file);
      await pause(0);
      if (!existsSync(`${file}-instances/${instance.name}.lock`)) nameless++;
      instance.leave();
    }
    return nameless;
  },

  /** Removes what dead instances left behind, again and again, for as long. */
  async tidyUp(ms: number): Promise<void> {
    const instance = joinInstances(file);
    for (const until = performance.now() + ms; performance.now() < until; await pause(0))
      for (let n = 0; n < 50; n++) instance.removeDead();
    instance.leave();
  },

  /** Starts afresh again and again, each time with a claim that must not be taken while it works. Counts thefts. */
  async startAfresh(times: number): Promise<{ held: number; robbed: number }> {
    const score = { held: 0, robbed: 0 };
    for (let n = 0; n < times; n++) {
      await commands.open();
      for (const { claim } of await claimTasks(database, {
        tools,
        limit: 1,
        leaseMs: 60_000,
        now: Date.now,
      })) {
        score.held++;
        try {
          await pause(3);
          await commands.record(claim, [newId()]);
          await database.store.update('task', claim.taskId, (task) => release(task, claim, Date.now()));
        } catch (error) {
          if (!hasCode(error, 'CLAIM_LOST')) throw error;
          score.robbed++;
        }
      }
      await commands.close();
    }
    return score;
  },
};

export type Commands = typeof commands;

obey(commands);
