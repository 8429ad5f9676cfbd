/** A process that closes a store in the middle of everything, and has nothing else to do: `crowded-life.ts <place>`. */
import { setImmediate } from 'node:timers/promises';
import { create } from '../../src/engine/rules/transitions.ts';
import { claimTasks } from '../../src/engine/worker/claiming.ts';
import { hasCode } from '../../src/model/errors.ts';
import { newId } from '../../src/model/id.ts';
import { aTask } from '../../src/store-testing.ts';
import { encryption } from '../encryption/keys.ts';
import { open } from './open.ts';

const database = await open(process.argv[2]!, { encryption: encryption('first', 'second') });
const { store, queue, queries: survey, audit, sessions, secrets } = database;
const tools = [{ tool: 'publish_report', version: '1' }];
const [now, id] = [Date.now(), newId()];
const session = { id: 'session', owner: 'owner', opening: {}, seenAt: now };
const acts: Readonly<Record<string, () => Promise<unknown>>> = {
  create: () => store.create(undefined, () => create(undefined, aTask(), now)),
  get: () => store.get(id),
  family: () => store.family(id),
  journal: () => store.journal(id),
  list: () => store.list({ owner: 'owner', limit: 10 }),
  count: () => store.count(undefined, 'live', 10),
  due: () => store.due('purge', now, 10),
  size: () => store.size(),
  claim: () => claimTasks(database, { tools, limit: 10, leaseMs: 15_000, now: Date.now }),
  orphans: () => queue.orphans(tools, now, 10),
  renew: () => queue.renew([{ taskId: id, epoch: 1 }], 15_000),
  backlog: () => queue.backlog(tools, 10),
  isAlive: () => queue.isAlive('somebody'),
  tasks: () => survey.list({ limit: 10 }),
  counted: () => survey.count({}, 10),
  overview: () => survey.overview({ since: now - 86_400_000, until: now, buckets: 24 }),
  entries: () => audit.read({ limit: 10 }),
  prune: () => audit.prune(0, 10),
  save: () => sessions.save(session),
  session: () => sessions.get('session'),
  secret: () => secrets.get('secret'),
  rekey: () => database.rekey(),
};
let isClosed = false;
/** All of it, again and again; and once more when it is closed. */
const beBusy = async ([name, act]: [string, () => Promise<unknown>]) => {
  try {
    for (; !isClosed; await setImmediate()) await act();
    await act();
  } catch (error) {
    if (!hasCode(error, 'STORE_CLOSED')) console.log(name, error);
  }
};
const underWay = Array.from({ length: 8 }, () => Object.entries(acts).map(beBusy)).flat();
await database.close();
isClosed = true;
await Promise.all(underWay);
console.log('done');
