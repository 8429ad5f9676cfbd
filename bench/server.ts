/**
 * A whole server over HTTP: tasks from call to completed compared with the tasks of SDK 1.x, and polls of distinct
 * tasks, among few and many, compared with a server that only echoes the answer.
 */
import { join } from 'node:path';
import { anonymous } from '../src/task-methods/caller.ts';
import { bursts } from './bursts.ts';
import { fill, StoredTasks } from './fixture.ts';
import { inFolder } from './folder.ts';
import { interleave, type Operation, type Side, type Timing, type Turns } from './measure.ts';
import { type Comparison, count, type Findings, type Rate, type Suite, type Target } from './report.ts';
import type { Connection } from './server-connection.ts';
import { fullCycle, holdfastPeer, look, openSdkSession, type Peer } from './server-peers.ts';
import { ServerProcess } from './server-process.ts';
import type { Kind } from './workload.ts';

interface Plan {
  readonly small: number;
  readonly large: number;
  readonly cycles: Turns;
  readonly polls: Turns;
}

const full: Plan = {
  small: 1_000,
  large: 1_000_000,
  cycles: { rounds: 150, chunk: 1 },
  polls: { rounds: 200, chunk: 1 },
};
const quick: Plan = {
  small: 1_000,
  large: 50_000,
  cycles: { rounds: 10, chunk: 1 },
  polls: { rounds: 10, chunk: 1 },
};

const clients = 16;
/** The number of requests, or cycles of them, per operation by all clients together. */
const cyclesInABurst = 128;
const pollsInABurst = 512;

/** Both report the status `working`, so their answers are alike. */
const live: readonly Kind[] = ['queued', 'claimed'];
const finished: readonly Kind[] = ['done'];

export const server: Suite = {
  name: 'server',
  run: ({ quick: isQuick }) => inFolder((folder) => compare(folder, isQuick ? quick : full)),
};

interface Measured {
  readonly comparisons: readonly Comparison[];
  readonly rates: readonly Rate[];
  readonly targets: readonly Target[];
}

async function compare(folder: string, plan: Plan): Promise<Findings> {
  const holdfast = await ServerProcess.start('server-holdfast.ts', join(folder, 'tasks.db'));
  try {
    const all = [await compareCycles(holdfast, plan.cycles), await comparePolls(folder, plan)];
    return {
      comparisons: all.flatMap(({ comparisons }) => comparisons),
      rates: all.flatMap(({ rates }) => rates),
      targets: all.flatMap(({ targets }) => targets),
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
      targets: [
        {
          what: `${what}, next to SDK 1.x in memory`,
          measured: timings.baseline.p50 / timings.holdfast.p50,
          atLeast: 1.4,
        },
      ],
    };
  } finally {
    await sdk.stop();
  }
}

/** Polls live and finished tasks in turn, each in files of several sizes, compared with an echo of the same answer. */
async function comparePolls(folder: string, { small, large, polls: turns }: Plan): Promise<Measured> {
  const file = (size: number) => join(folder, `filled-${size}.db`);
  // Both are filled before either is served, because a server closes idle connections.
  for (const size of [small, large]) await fill(file(size), size, () => anonymous);
  const opened: { stop(): Promise<void> }[] = [];
  try {
    const serve = async (size: number) => {
      const served = await serveFilled(file(size), size);
      opened.push(served);
      return served;
    };
    const few = await serve(small);
    const many = await serve(large);
    const echoOf = async (kinds: readonly Kind[]) => {
      const echo = await ServerProcess.start('server-echo.ts', await few.anyAnswer(kinds));
      opened.push(echo);
      return few.polls(kinds, echo);
    };
    const timings = await interleave(
      {
        fewLive: await few.polls(live),
        manyLive: await many.polls(live),
        fewFinished: await few.polls(finished),
        manyFinished: await many.polls(finished),
        liveEcho: await echoOf(live),
        finishedEcho: await echoOf(finished),
      },
      turns,
    );
    const compared = (kind: string, stored: number, holdfast: Timing, baseline: Timing): Comparison => ({
      what: `${pollsInABurst} polls of distinct ${kind} tasks over HTTP, next to a bare echo`,
      stored,
      holdfast,
      baseline,
    });
    const ofLive = [
      compared('live', small, timings.fewLive, timings.liveEcho),
      compared('live', large, timings.manyLive, timings.liveEcho),
    ];
    const ofFinished = [
      compared('finished', small, timings.fewFinished, timings.finishedEcho),
      compared('finished', large, timings.manyFinished, timings.finishedEcho),
    ];
    const rate = (what: string, stored: number, timing: Timing): Rate => ({
      what,
      stored,
      perSecond: perSecond(pollsInABurst, timing),
    });
    return {
      comparisons: [...ofLive, ...ofFinished],
      rates: [
        ...ofLive.map(({ stored, holdfast }) => rate('polls of distinct live tasks', stored, holdfast)),
        rate('… as a bare echo', small, timings.liveEcho),
        ...ofFinished.map(({ stored, holdfast }) =>
          rate('polls of distinct finished tasks', stored, holdfast),
        ),
        rate('… as a bare echo', small, timings.finishedEcho),
      ],
      targets: ofLive.map(({ stored, holdfast, baseline }, index) => ({
        what: `polls of distinct live tasks among ${count(stored)}, next to a bare echo`,
        measured: baseline.p50 / holdfast.p50,
        atLeast: [0.5, 0.3][index]!,
      })),
    };
  } finally {
    for (const one of opened) await one.stop();
  }
}

interface Filled {
  /** Sent to the server of the file, or to another one. */
  polls(kinds: readonly Kind[], to?: ServerProcess): Promise<Side>;
  /** The body of an answer about one of these tasks. */
  anyAnswer(kinds: readonly Kind[]): Promise<string>;
  stop(): Promise<void>;
}

async function serveFilled(file: string, size: number): Promise<Filled> {
  const served = await ServerProcess.start('server-holdfast.ts', file, '--no-worker');
  const stored = new StoredTasks(file, size, file);
  const peer = holdfastPeer();
  return {
    async polls(kinds, to = served) {
      const next = stored.inTurn(kinds);
      const poll = () => {
        const get = peer.get(next());
        return (one: Connection) => look(one, get);
      };
      return sleepless(bursts(await to.connect(clients), pollsInABurst, poll));
    },
    async anyAnswer(kinds) {
      const [connection] = await served.connect(1);
      const answer = await look(connection!, peer.get(stored.inTurn(kinds)()));
      return answer.slice(answer.indexOf('\r\n\r\n'));
    },
    async stop() {
      stored.close();
      await served.stop();
    },
  };
}

/**
 * A sleeping client must be woken by each answer. On a virtual machine that costs the writer more than producing the
 * answer, and a slower server pays it more often; in short operations nothing else would be measured.
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
