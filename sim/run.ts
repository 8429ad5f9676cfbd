/** One seed, from the first process to the final checks. */
import { Refusal } from '../src/model/errors.ts';
import { useRuntime } from '../src/runtime/runtime.ts';
import { Attacker } from './attacker.ts';
import { Caller, dialects } from './callers.ts';
import { SimDatabase } from './database.ts';
import { type Fault, faultsEndAt, inject, planOf } from './faults.ts';
import { escaped } from './globals.ts';
import { InProcessCallers } from './in-process-callers.ts';
import { enter } from './install-world.ts';
import { Network } from './network.ts';
import { Oracles } from './oracles.ts';
import { PlainCaller } from './plain-callers.ts';
import { PlainCalls } from './plain-calls.ts';
import { eventOf } from './programs.ts';
import { type OwnerName, Servers } from './servers.ts';
import { World } from './world.ts';

const hour = 3_600_000;

export interface Outcome {
  readonly seed: number;
  readonly commits: number;
  readonly hash: string;
  readonly faults: readonly Fault[];
  /** Indexes of faults that were left out. */
  readonly leftOut: ReadonlySet<number>;
  /** How often each fault and each kind of call occurred. */
  readonly counts: Readonly<Record<string, number>>;
  readonly violations: readonly string[];
  readonly trace: readonly string[];
  readonly virtualMs: number;
  readonly turns: number;
}

export interface SimulationOptions {
  /** Indexes of faults to leave out. */
  readonly leaveOut?: ReadonlySet<number>;
  /** Also records every request. */
  readonly isTraced?: boolean;
}

export async function simulate(
  seed: number,
  { leaveOut = new Set(), isTraced = false }: SimulationOptions = {},
): Promise<Outcome> {
  // Long stack traces cost more time than the rest of a run.
  Error.stackTraceLimit = isTraced ? 30 : 3;
  const world = new World(seed);
  enter(world);
  useRuntime(world.runtime);
  const database = new SimDatabase();
  const witness = new Oracles(world, database);
  const network = new Network(world.random());
  const counts: Record<string, number> = {};
  const count = (what: string) => (counts[what] = (counts[what] ?? 0) + 1);
  const plainCalls = new PlainCalls(database, witness, count);
  const fleet = new Servers({ world, database, network, witness, plainCalls });
  if (isTraced) network.onRequest = (what) => witness.note(what);
  const plan = world.random();

  const size = plan.chance(0.3) ? 3 : 2;
  fleet.start(size);
  const callers = Array.from({ length: 4 }, (_, n) => {
    const owner: OwnerName = n % 2 === 0 ? 'ada' : 'bob';
    return new Caller(fleet, `caller${n}-`, owner, plan.pick(dialects), count);
  });
  const plainCaller = new PlainCaller(fleet, 'plain-', plan.pick(['ada', 'bob'] as const), count);
  for (const caller of callers) caller.start(plan.between(2, 4));
  plainCaller.start(plan.between(2, 4));
  new InProcessCallers(fleet, count).start(plan.between(21, 31));
  new Attacker(fleet, count).start(plan.between(3, 8));
  const faults = planOf(world.random(), size);
  witness.areClocksRight = !faults.some(({ kind }) => kind === 'clock jump' || kind === 'drift');
  for (const [n, fault] of faults.entries())
    if (!leaveOut.has(n))
      world.outside.setTimer(() => {
        count(fault.kind);
        witness.note(`FAULT  ${fault.kind} (server ${fault.server}, ${fault.ms} ms)`);
        inject(fault, fleet);
      }, fault.at);
  world.outside.setTimer(
    () => {
      const server = fleet.servers.find(({ process, tasks }) => tasks && !process.isDead);
      for (const awaited of witness.environment.awaitedEvents)
        server?.process.receive(() => {
          count('event');
          const { id, program, event } = awaited;
          server.tasks?.sendEvent(id, event, eventOf(program, event)).then(
            () => witness.environment.eventCame(awaited),
            (error) => {
              witness.note(`${program}: event ${event} was not sent: ${error}`);
              if (error instanceof Refusal) witness.environment.eventCame(awaited);
            },
          );
        }, 1);
    },
    2_000,
    true,
  );
  const isOver = () =>
    world.time > faultsEndAt &&
    [...callers, plainCaller].every(({ open }) => open.length === 0) &&
    fleet.servers.every(({ process }) => !process.isStalled) &&
    witness.unfinished().next().done === true;
  try {
    await world.run(isOver, hour);
    // Lets the last changes reach their subscribers.
    await world.run(() => false, 5_000);
  } catch (error) {
    witness.complain(`uncaught: ${(error as Error).stack}`);
  }
  witness.judge();
  plainCalls.judge();
  fleet.checkObjectSizes();
  for (const kind of escaped()) witness.complain(`something ran outside the simulation: ${kind}`);
  for (const { open } of [...callers, plainCaller])
    for (const name of open) witness.complain(`${name}: its caller still waits`);
  database.close();
  const { commits, hash, violations, trace } = witness;
  return {
    seed,
    commits,
    hash,
    faults,
    leftOut: leaveOut,
    counts,
    violations,
    trace,
    virtualMs: world.time,
    turns: world.turns,
  };
}
