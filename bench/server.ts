/**
 * A whole server over HTTP: tasks from call to completed next to the tasks of SDK 1.x, and
 * `tasks/get` next to a server that only echoes, and next to itself with many more tasks stored.
 */
import { join } from 'node:path';
import { anonymous } from '../src/hosting/caller.ts';
import { bursts } from './bursts.ts';
import { fill, StoredTasks } from './fixture.ts';
import { inFolder } from './folder.ts';
import { interleave, type Operation, type Side, type Timing, type Turns } from './measure.ts';
import { type Comparison, count, type Findings, type Rate, type Suite, type Target } from './report.ts';
import type { Connection } from './server-connection.ts';
import { fullCycle, holdfastPeer, look, openSdkSession, type Peer } from './server-peers.ts';
import { ServerProcess } from './server-process.ts';

interface Plan {
  readonly small: number;
  readonly large: number;
  readonly cycles: Turns;
  readonly gets: Turns;
}

const full: Plan = {
  small: 1_000,
  large: 1_000_000,
  cycles: { rounds: 150, chunk: 1 },
  gets: { rounds: 200, chunk: 1 },
};
const quick: Plan = {
  small: 1_000,
  large: 50_000,
  cycles: { rounds: 10, chunk: 1 },
  gets: { rounds: 10, chunk: 1 },
};

const clients = 16;
/** Requests, or cycles of them, that all clients together make in one operation. */
const cyclesInABurst = 128;
const getsInABurst = 512;

export const server: Suite = {
  name: 'server',
  run: ({ quick: isQuick }) => inFolder((folder) => compare(folder, isQuick ? quick : full)),
};

interface Measured {
  readonly comparisons?: readonly Comparison[];
  readonly rates: readonly Rate[];
  readonly target: Target;
}

async function compare(folder: string, plan: Plan): Promise<Findings> {
  const holdfast = await ServerProcess.start('server-holdfast.ts', join(folder, 'tasks.db'));
  try {
    const all = [
      await compareCycles(holdfast, plan.cycles),
      await compareGets(holdfast, plan.gets),
      await compareSizes(folder, plan),
    ];
    return {
      comparisons: all.flatMap(({ comparisons = [] }) => comparisons),
      rates: all.flatMap(({ rates }) => rates),
      targets: all.map(({ target }) => target),
    };
  } finally {
    await holdfast.stop();
  }
}

async function compareCycles(holdfast: ServerProcess, turns: Turns): Promise<Measured> {
  const sdk = await ServerProcess.start('server-sdk.ts');
  try {
    const peer = holdfastPeer();
    const sessions = new Map<Connection, Peer>();
    for (const one of await sdk.connect(clients)) sessions.set(one, await openSdkSession(one));
    const timings = await interleave(
      {
        holdfast: bursts(
          await holdfast.connect(clients),
          cyclesInABurst,
          () => (one) => fullCycle(one, peer),
        ),
        baseline: bursts(
          [...sessions.keys()],
          cyclesInABurst,
          () => (one) => fullCycle(one, sessions.get(one)!),
        ),
      },
      turns,
    );
    const what = 'tasks over HTTP, from the call to completed';
    const stored = cyclesInABurst;
    return {
      comparisons: [{ what: `${stored} ${what}`, stored, ...timings }],
      rates: [
        { what, stored, perSecond: perSecond(stored, timings.holdfast) },
        { what: '… with SDK 1.x, in memory', stored, perSecond: perSecond(stored, timings.baseline) },
      ],
      target: {
        what: `${what}, next to SDK 1.x in memory`,
        measured: timings.baseline.p50 / timings.holdfast.p50,
        atLeast: 1.5,
      },
    };
  } finally {
    await sdk.stop();
  }
}

async function compareGets(holdfast: ServerProcess, turns: Turns): Promise<Measured> {
  const connections = await holdfast.connect(clients);
  const get = holdfastPeer().get(await fullCycle(connections[0]!, holdfastPeer()));
  const answer = await look(connections[0]!, get);
  const echo = await ServerProcess.start('server-echo.ts', answer.slice(answer.indexOf('\r\n\r\n')));
  try {
    const asking = () => (one: Connection) => look(one, get);
    const timings = await interleave(
      {
        holdfast: sleepless(bursts(connections, getsInABurst, asking)),
        baseline: sleepless(bursts(await echo.connect(clients), getsInABurst, asking)),
      },
      turns,
    );
    const stored = 1;
    return {
      comparisons: [{ what: `${getsInABurst} tasks/get over HTTP`, stored, ...timings }],
      rates: [
        { what: 'tasks/get over HTTP', stored, perSecond: perSecond(getsInABurst, timings.holdfast) },
        { what: '… as a bare echo', stored, perSecond: perSecond(getsInABurst, timings.baseline) },
      ],
      target: {
        what: 'tasks/get over HTTP, next to a bare echo',
        measured: timings.baseline.p50 / timings.holdfast.p50,
        atLeast: 0.6,
      },
    };
  } finally {
    await echo.stop();
  }
}

/**
 * Of both sizes equally many tasks are polled, spread over the whole file, so that the sizes are all that differs. What
 * it costs when each look is at any task, of which nothing is remembered, is measured beside it.
 */
async function compareSizes(folder: string, { small, large, gets: turns }: Plan): Promise<Measured> {
  const file = (size: number) => join(folder, `filled-${size}.db`);
  // Both are filled before any is served: a server closes connections that say nothing for a while.
  for (const size of [small, large]) await fill(file(size), size, () => anonymous);
  const served: Filled[] = [];
  const gets = async (size: number, pick: (stored: StoredTasks) => () => string) => {
    const one = await serveFilled(file(size), size, pick);
    served.push(one);
    return one.gets;
  };
  try {
    const same = (stored: StoredTasks) => {
      const ids = stored.someIds(small);
      return () => ids[Math.floor(Math.random() * ids.length)]!;
    };
    const sides = {
      few: await gets(small, same),
      many: await gets(large, same),
      any: await gets(large, (stored) => () => stored.anyId()),
    };
    const timings = await interleave(sides, turns);
    const what = `tasks/get of ${count(small)} tasks over HTTP`;
    return {
      rates: [
        { what, stored: small, perSecond: perSecond(getsInABurst, timings.few) },
        { what, stored: large, perSecond: perSecond(getsInABurst, timings.many) },
        {
          what: 'tasks/get of any task over HTTP',
          stored: large,
          perSecond: perSecond(getsInABurst, timings.any),
        },
      ],
      target: {
        what: `${what}, of ${count(large)} stored next to ${count(small)}`,
        measured: timings.many.p50 / timings.few.p50,
        atMost: 1.2,
      },
    };
  } finally {
    for (const { stop } of served) await stop();
  }
}

interface Filled {
  readonly gets: Side;
  stop(): Promise<void>;
}

async function serveFilled(
  file: string,
  size: number,
  pick: (stored: StoredTasks) => () => string,
): Promise<Filled> {
  const served = await ServerProcess.start('server-holdfast.ts', file, '--no-worker');
  const stored = new StoredTasks(file, size, file);
  const peer = holdfastPeer();
  const next = pick(stored);
  const asking = () => {
    const get = peer.get(next());
    return (one: Connection) => look(one, get);
  };
  return {
    gets: sleepless(bursts(await served.connect(clients), getsInABurst, asking)),
    async stop() {
      stored.close();
      await served.stop();
    },
  };
}

/**
 * A client that sleeps has to be woken by each answer. On a virtual machine that costs whoever writes the answer more
 * than making it, and a slower server pays more often; where little else is done, it would be all that is measured.
 */
function sleepless({ prepare }: Side): Side {
  const awake = (operation: Operation): Operation => {
    return async () => {
      let next = setImmediate(function turn() {
        next = setImmediate(turn);
      });
      try {
        await operation();
      } finally {
        clearImmediate(next);
      }
    };
  };
  return { prepare: async (count) => (await prepare(count)).map(awake) };
}

function perSecond(total: number, { p50 }: Timing): number {
  return (total / p50) * 1e6;
}
