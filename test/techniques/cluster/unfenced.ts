/**
 * A worker whose fencing is off: what stands between the engine and the store shows every rule the claim that this
 * process once had, whoever has it now. A broken build, to see whether the checker of histories notices.
 */
import { join } from '../../../scripts/chaos/cluster/member.ts';
import { withCommands } from '../../../src/engine/database/decorator.ts';
import type { Database, Task, TaskWorker } from '../../../src/index.ts';
import type { Change, Reach, Store, Verdict } from '../../../src/store.ts';

function withoutFencing(database: Database): Database {
  const { store, queue } = database;
  const claims = new Map<string, { readonly epoch: number; readonly holder: TaskWorker }>();
  const remember = (change: Change): Change => {
    const { task } = change;
    if (task.phase !== 'done' && task.worker?.name === queue.name)
      claims.set(task.id, { epoch: task.epoch, holder: task.worker });
    else claims.delete(task.id);
    return change;
  };
  const asOurs = (task: Task): Task => {
    const claim = claims.get(task.id);
    return claim && task.phase !== 'done' && task.epoch > claim.epoch
      ? ({ ...task, ...claim } as Task)
      : task;
  };
  const update = <R extends keyof Reach>(reach: R, id: string, decide: (subject: Reach[R]) => Verdict) =>
    store
      .update(reach, id, (subject) =>
        decide(
          (reach === 'task'
            ? asOurs(subject as Task)
            : { ...subject, task: asOurs((subject as Reach['lineage']).task) }) as Reach[R],
        ),
      )
      .then(remember);
  /** It never receives that it has lost a claim. */
  const unaware = new Proxy(queue, {
    get(_, name) {
      if (name === 'renew') return async () => [];
      const value = Reflect.get(queue, name);
      return typeof value === 'function' ? value.bind(queue) : value;
    },
  });
  return { ...withCommands(database, { update: update as Store['update'] }), queue: unaware };
}

await join(withoutFencing);
