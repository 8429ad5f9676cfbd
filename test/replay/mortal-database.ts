/** A database as a worker sees it that will die: from one of its commits on, nothing reaches it or comes back. */

import type { Audit } from '../../src/engine/audit.ts';
import type { Change } from '../../src/engine/change.ts';
import type { Database, Queue, Secrets } from '../../src/engine/queue.ts';
import type { Sessions } from '../../src/engine/sessions.ts';
import type { Reach, Store } from '../../src/engine/store.ts';
import { StoreClosed } from '../../src/engine/store-errors.ts';
import type { Survey } from '../../src/engine/survey.ts';

let opened = 0;

export class MortalDatabase implements Database {
  readonly store: Store;
  readonly queue: Queue;
  readonly secrets: Secrets;
  readonly sessions: Sessions;
  readonly audit: Audit;
  readonly survey: Survey;
  isDead = false;

  /** Dies after so many commits to journals; `onCommit` hears of each before the worker does. */
  constructor(
    { store, queue, secrets, sessions, audit, survey }: Database,
    commits: number,
    onCommit: (change: Change) => void,
  ) {
    let left = commits;
    const whileAlive = async <T>(act: () => Promise<T>): Promise<T> => {
      if (this.isDead) throw new StoreClosed('dead');
      const done = await act();
      if (this.isDead) throw new StoreClosed('dead');
      return done;
    };
    const committed = (change: Change): Change => {
      onCommit(change);
      if (change.writes.some(({ journal }) => journal) && --left === 0) this.isDead = true;
      return change;
    };
    const unlessDead =
      <A extends unknown[]>(listener: (...args: A) => void) =>
      (...args: A) => {
        if (!this.isDead) listener(...args);
      };
    this.store = {
      create: (key, decide) => whileAlive(async () => committed(await store.create(key, decide))),
      update: <R extends keyof Reach>(...command: Parameters<typeof store.update<R>>) =>
        whileAlive(async () => committed(await store.update(...command))),
      get: (id, owner) => whileAlive(() => store.get(id, owner)),
      family: (id) => whileAlive(() => store.family(id)),
      asking: (rootId) => whileAlive(() => store.asking(rootId)),
      childIds: (id) => whileAlive(() => store.childIds(id)),
      list: (query) => whileAlive(() => store.list(query)),
      count: (owner, what, upTo) => whileAlive(() => store.count(owner, what, upTo)),
      commitsOf: (id, after, limit) => whileAlive(() => store.commitsOf(id, after, limit)),
      journal: (id) => whileAlive(() => store.journal(id)),
      due: (what, now, limit) => whileAlive(() => store.due(what, now, limit)),
      leaveOut: (before, limit) => whileAlive(() => store.leaveOut(before, limit)),
      size: () => whileAlive(() => store.size()),
      subscribe: (listener) => store.subscribe(unlessDead(listener)),
      close: async () => {},
    };
    this.secrets = secrets;
    this.sessions = sessions;
    this.audit = audit;
    this.survey = survey;
    this.queue = {
      // Each is a process of its own, which knows nothing of the steps that another left behind.
      name: `${queue.name} ${++opened}`,
      isAlive: (name) => queue.isAlive(name),
      offers: (...args) => whileAlive(() => queue.offers(...args)),
      orphans: (tools, since, limit) => whileAlive(() => queue.orphans(tools, since, limit)),
      backlog: (tools, most) => whileAlive(() => queue.backlog(tools, most)),
      renew: (...args) => whileAlive(() => queue.renew(...args)),
      isolate: (claim) => whileAlive(() => queue.isolate(claim)),
      onWork: (listener) => queue.onWork(unlessDead(listener)),
    };
  }

  async close(): Promise<void> {}
}
