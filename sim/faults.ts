/** The plan of faults, generated from the seed. Single faults can be left out. */

import type { Random } from './random.ts';
import type { Servers } from './servers.ts';

const minute = 60_000;

const kinds = {
  kill: 14,
  'kill at commit': 10,
  stall: 14,
  'clock jump': 6,
  drift: 3,
  'store busy': 5,
  'store full': 5,
  'store slow': 6,
  'answer lost': 6,
  'corrupt row': 4,
  'feed late': 4,
  'feed repeated': 4,
  'network slow': 4,
  'network loses': 5,
  'network doubles': 5,
  'network cuts': 6,
  'changed handler': 3,
  'removed version': 4,
} as const;

export type FaultKind = keyof typeof kinds;
export const faultKinds = Object.keys(kinds) as FaultKind[];

export interface Fault {
  readonly kind: FaultKind;
  readonly at: number;
  /** Its duration or extent. */
  readonly ms: number;
  /** The affected server, if any. */
  readonly server: number;
  /** A random number for further choices. */
  readonly draw: number;
}

export const faultsEndAt = minute / 3;

export function planOf(random: Random, servers: number): Fault[] {
  const count = random.between(5, 14);
  const faults = Array.from({ length: count }, (): Fault => {
    const kind = random.weighted(kinds);
    return {
      kind,
      at: random.between(1, faultsEndAt),
      ms: kind === 'stall' ? longTail(random) : random.between(100, 6_000),
      server: random.between(0, servers - 1),
      draw: random.fraction(),
    };
  });
  return faults.sort((one, other) => one.at - other.at);
}

/** Shorter than, about, and much longer than the lease. */
function longTail(random: Random): number {
  return random.chance(0.3) ? random.between(9_000, 20_000) : random.between(100, 8_000);
}

export function describe({ kind, at, ms, server }: Fault): string {
  return `${at} ms: ${kind}, server ${server}, ${ms} ms`;
}

export function inject(fault: Fault, fleet: Servers): void {
  const { kind, ms, server: index, draw } = fault;
  const server = fleet.servers[index]!;
  const { state, process } = server;
  const later = (act: () => void) => fleet.world.outside.setTimer(act, ms);
  switch (kind) {
    case 'kill':
      return fleet.kill(server, ms);
    case 'kill at commit':
      server.killAt = (['commit: begun', 'commit: written', 'commit: durable'] as const)[
        Math.floor(draw * 3)
      ]!;
      server.downMs = ms;
      return;
    case 'stall':
      return process.stall(ms);
    case 'clock jump': {
      // Work delayed by a fast clock stays delayed after the correction.
      process.clockOffsetMs += (draw - 0.5) * minute;
      return void later(() => (process.clockOffsetMs = 0));
    }
    case 'drift':
      process.drift = 0.98 + draw * 0.04;
      return;
    case 'store busy':
      state.fails = 'busy';
      return void later(() => (state.fails = undefined));
    case 'store full':
      state.fails = 'full';
      return void later(() => (state.fails = undefined));
    case 'store slow':
      state.slowMs = Math.floor(draw * 4_000);
      return void later(() => (state.slowMs = 0));
    case 'answer lost':
      state.losesAnswers = 1 + Math.floor(draw * 3);
      return;
    case 'corrupt row':
      return fleet.corrupt(draw, ms);
    case 'feed late':
      server.feed.lateMs = ms;
      return void later(() => (server.feed.lateMs = 0));
    case 'feed repeated':
      server.feed.repeats = true;
      return void later(() => (server.feed.repeats = false));
    case 'network slow':
      fleet.network.weather.maxDelayMs = 3_000;
      return void later(() => (fleet.network.weather.maxDelayMs = 5));
    case 'network loses':
      fleet.network.weather.lost = 0.2;
      return void later(() => (fleet.network.weather.lost = 0));
    case 'network doubles':
      fleet.network.weather.doubled = 0.3;
      return void later(() => (fleet.network.weather.doubled = 0));
    case 'network cuts':
      fleet.network.weather.cut = 0.15;
      return void later(() => (fleet.network.weather.cut = 0));
    case 'changed handler':
      return fleet.deploy(server, [{ version: 'two' }, { version: 'one', isChanged: true }], ms);
    case 'removed version':
      return fleet.deploy(server, [{ version: 'two' }], ms);
  }
}
