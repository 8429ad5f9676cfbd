/**
 * Random commands on the queue, the sessions and the audit log, and queries between them. Their results are compared.
 * Where a port promises no order, the result is sorted, and the limit is larger than what there is: otherwise a store
 * could choose among equals.
 */

import type { AuditEntry, Database, Task } from '../../../src/index.ts';
import { taskStatuses } from '../../../src/model/status.ts';
import type { TaskFilter } from '../../../src/ports/query.ts';
import type { Claim } from '../../../src/store.ts';
import { pagesOf } from '../../kit/listed.ts';
import { type Command, commandOf, leaseMs, of, words } from './commands.ts';
import { allOf, owners, tools } from './reading.ts';

interface Given extends Command {
  readonly now: number;
  readonly tasks: readonly Task[];
  readonly claims: readonly Claim[];
}

interface PortCommand {
  readonly weight: number;
  readonly act: (database: Database, given: Given) => Promise<unknown>;
}

/** A moment around now, before or after. */
const around = ({ m, now }: Given) => now + 1_000 - (m % 60_000);

export const portCommands: Readonly<Record<string, PortCommand>> = {
  renew: {
    weight: 3,
    act: async ({ queue }, { n, m, claims }) => {
      const some = claims.slice(-1 - (m % 9)).concat(of(claims, n) ?? []);
      return queue.renew(
        some.map(({ taskId, epoch }) => ({ taskId, epoch })),
        leaseMs + n,
      );
    },
  },
  isolate: {
    weight: 4,
    act: async ({ queue }, { n, tasks, claims }) => {
      const held = tasks.filter((task) => task.phase !== 'done' && task.worker);
      const task = of(held, n);
      // Every third time under a claim that is lost.
      const isLost = n % 3 === 0;
      const claim = task ? { taskId: task.id, epoch: task.epoch - (isLost ? 1 : 0) } : of(claims, n);
      return claim && queue.isolate({ taskId: claim.taskId, epoch: claim.epoch });
    },
  },
  orphans: {
    weight: 2,
    act: async ({ queue }, given) => (await queue.orphans(of(tools, given.n)!, around(given), allOf)).sort(),
  },
  backlog: {
    weight: 2,
    act: ({ queue }, { n, m }) => queue.backlog(of(tools, n)!, m % 2 === 0 ? 2 : allOf),
  },
  'save session': {
    weight: 4,
    act: async ({ sessions }, { n, m, now }) => {
      const id = `session ${n % 5}`;
      await sessions.save({ id, owner: of(owners, m)!, opening: { n, word: of(words, m)! }, seenAt: now });
      return sessions.get(id);
    },
  },
  'delete session': { weight: 1, act: ({ sessions }, { n }) => sessions.delete(`session ${n % 5}`) },
  'forget sessions': { weight: 1, act: ({ sessions }, given) => sessions.forget(around(given)) },
  'append to the audit log': {
    weight: 2,
    act: async ({ audit }, { n, m, now, tasks }) => {
      const refused: AuditEntry = {
        at: now,
        action: n % 2 === 0 ? 'denied' : 'limited',
        owner: n % 3 === 0 ? null : of(owners, m)!,
        taskId: of(tasks, n)?.id ?? null,
        by: 'caller',
        reason: of(words, n)!,
        ...(m % 2 === 0 && { times: 1 + (m % 5), details: { n } }),
      };
      await audit.append(m % 4 === 0 ? [] : [refused, { ...refused, at: now - (n % 100) }]);
    },
  },
  'prune the audit log': {
    weight: 1,
    act: ({ audit }, { m, now }) => audit.prune(now - (m % 240_000), allOf),
  },
  'read the audit log': {
    weight: 2,
    act: async ({ audit }, given) => {
      const { n, m, tasks } = given;
      const query = {
        ...(n % 2 === 0 && { taskId: of(tasks, m)?.id ?? 'none' }),
        ...(n % 3 === 0 && { owner: of(owners, m)! }),
        ...(n % 5 === 0 && { action: 'ended' as const }),
        ...(m % 3 === 0 && { since: around(given) - 30_000 }),
        ...(m % 5 === 0 && { until: around(given) }),
      };
      const pages = await Array.fromAsync(pagesOf((from) => audit.read({ ...query, limit: 3, ...from })));
      return pages.flatMap(({ entries }) => entries);
    },
  },
  'leave idle passes out': { weight: 2, act: ({ store }, given) => store.leaveOut(around(given), allOf) },
  query: {
    weight: 5,
    act: async ({ queries: survey }, given) => {
      const { n, m, tasks } = given;
      const filter: TaskFilter = {
        ...(n % 2 === 0 && { owner: of(owners, m)! }),
        ...(n % 3 === 0 && { tool: m % 2 === 0 ? 'publish_report' : 'summarise' }),
        ...(m % 3 !== 0 && { statuses: taskStatuses.filter((_, index) => (m >> index) % 2 === 0) }),
        ...(n % 5 === 0 && { since: around(given) }),
        ...(n % 7 === 0 && { until: around(given) }),
        ...(m % 5 === 0 && { text: m % 2 === 0 ? of(words, n)! : (of(tasks, n)?.id ?? 'none') }),
      };
      const pages = await Array.fromAsync(pagesOf((from) => survey.list({ ...filter, limit: 4, ...from })));
      return { list: pages.flatMap(({ tasks }) => tasks), count: await survey.count(filter, allOf) };
    },
  },
};

/** `work` is carried out by the test, because what a worker claims decides what comes next. */
export const portCommand = commandOf({ ...portCommands, work: { weight: 4 } });
