/** The SQLite store compared with the same SQL in a bare loop, at two sizes. */
import { join } from 'node:path';
import { copy, fill } from './fixture.ts';
import { inFolder } from './folder.ts';
import { interleave, type Turns } from './measure.ts';
import {
  type Comparison,
  count,
  type Findings,
  type Rate,
  ratio,
  type Suite,
  type Target,
} from './report.ts';
import { checkSameRows } from './same-rows.ts';
import {
  type Contestant,
  type OperationName,
  openBareLoop,
  openStore,
  operations,
  type StoreContestant,
} from './sides.ts';

interface Plan {
  readonly small: number;
  /** More tasks than the store caches: for `get` only. */
  readonly medium: number;
  readonly large: number;
  readonly turns: Readonly<Record<OperationName, Turns>>;
  /** Rounds of bursts of creators. */
  readonly bursts: number;
}

const full: Plan = {
  small: 1_000,
  medium: 20_000,
  large: 1_000_000,
  turns: {
    get: { rounds: 200, chunk: 100 },
    'newest list page': { rounds: 200, chunk: 10 },
    'any list page': { rounds: 200, chunk: 10 },
    'commit of a step': { rounds: 400, chunk: 8 },
    answer: { rounds: 400, chunk: 8 },
    'durable create': { rounds: 400, chunk: 8 },
  },
  bursts: 60,
};

const quick: Plan = {
  small: 1_000,
  medium: 5_000,
  large: 20_000,
  turns: {
    get: { rounds: 10, chunk: 100 },
    'newest list page': { rounds: 10, chunk: 5 },
    'any list page': { rounds: 10, chunk: 5 },
    'commit of a step': { rounds: 12, chunk: 8 },
    answer: { rounds: 12, chunk: 8 },
    'durable create': { rounds: 12, chunk: 8 },
  },
  bursts: 4,
};

const crowd = 64;
const burstOfOne = 64;
const burstOfTheCrowd = 256;

/** Both sides on equal files of one size. */
interface Pair {
  readonly size: number;
  readonly store: StoreContestant;
  readonly bare: Contestant;
}

export const sqliteStore: Suite = {
  name: 'sqlite-store',
  run: ({ quick: isQuick }) => inFolder((folder) => compare(folder, isQuick ? quick : full)),
};

async function compare(folder: string, plan: Plan): Promise<Findings> {
  await checkSameRows(folder);
  const small = await openPair(folder, plan.small);
  const large = await openPair(folder, plan.large);
  try {
    const measured: [OperationName, Comparison, Comparison][] = [];
    for (const name of operations) measured.push([name, ...(await compareOn(name, small, large, plan))]);
    const remembered = await compareGetAlone(folder, plan);
    const rates = await creationRates(small, large, plan.bursts);
    return {
      comparisons: [...measured.flatMap(([, atSmall, atLarge]) => [atSmall, atLarge]), remembered],
      rates: rates.flatMap(({ one, many }) => [one, many]),
      targets: [...measured.flatMap((one) => targetsOf(...one)), ...rates.map(({ target }) => target)],
    };
  } finally {
    for (const { store, bare } of [small, large]) {
      await store.close();
      await bare.close();
    }
  }
}

async function compareGetAlone(folder: string, { medium, turns }: Plan): Promise<Comparison> {
  const { store, bare } = await openPair(folder, medium);
  try {
    const timings = await interleave({ holdfast: store.sides.get, baseline: bare.sides.get }, turns.get);
    return { what: 'get', stored: medium, ...timings };
  } finally {
    await store.close();
    await bare.close();
  }
}

async function openPair(folder: string, size: number): Promise<Pair> {
  const file = (name: string) => join(folder, `${name}-${size}.db`);
  const pristine = file('pristine');
  await fill(pristine, size);
  copy(pristine, file('store'));
  copy(pristine, file('bare'));
  return {
    size,
    store: await openStore(file('store'), size, pristine),
    bare: openBareLoop(file('bare'), size, pristine),
  };
}

async function compareOn(
  name: OperationName,
  small: Pair,
  large: Pair,
  plan: Plan,
): Promise<[Comparison, Comparison]> {
  const timings = await interleave(
    {
      smallStore: small.store.sides[name],
      smallBare: small.bare.sides[name],
      largeStore: large.store.sides[name],
      largeBare: large.bare.sides[name],
    },
    plan.turns[name],
  );
  return [
    { what: name, stored: small.size, holdfast: timings.smallStore, baseline: timings.smallBare },
    { what: name, stored: large.size, holdfast: timings.largeStore, baseline: timings.largeBare },
  ];
}

function targetsOf(name: OperationName, atSmall: Comparison, atLarge: Comparison): Target[] {
  const nextToTheBareLoop = (atMost: number) =>
    [atSmall, atLarge].map((one) => ({
      what: `${name} at ${count(one.stored)}, next to the bare loop`,
      measured: ratio(one),
      atMost,
    }));
  switch (name) {
    case 'durable create':
    case 'commit of a step':
      return nextToTheBareLoop(2);
    case 'get':
      return nextToTheBareLoop(1.5);
    case 'newest list page':
      return [
        {
          what: `${name} at ${count(atLarge.stored)}, next to ${count(atSmall.stored)}`,
          measured: atLarge.holdfast.p50 / atSmall.holdfast.p50,
          atMost: 1.5,
        },
      ];
    // A page in the middle reads one scattered database page per row: shown, but without a target.
    case 'any list page':
    case 'answer':
      return [];
  }
}

async function creationRates(
  small: Pair,
  large: Pair,
  rounds: number,
): Promise<{ one: Rate; many: Rate; target: Target }[]> {
  const timings = await interleave(
    {
      smallOne: small.store.creators(1, burstOfOne),
      smallMany: small.store.creators(crowd, burstOfTheCrowd),
      largeOne: large.store.creators(1, burstOfOne),
      largeMany: large.store.creators(crowd, burstOfTheCrowd),
    },
    { rounds, chunk: 1 },
  );
  const gain = ({ size }: Pair, oneUs: number, manyUs: number) => {
    const one = { what: '1 creator', stored: size, perSecond: (burstOfOne / oneUs) * 1e6 };
    const many = { what: `${crowd} creators`, stored: size, perSecond: (burstOfTheCrowd / manyUs) * 1e6 };
    const what = `${crowd} creators at ${count(size)}, next to 1`;
    return { one, many, target: { what, measured: many.perSecond / one.perSecond, atLeast: 3 } };
  };
  return [
    gain(small, timings.smallOne.p50, timings.smallMany.p50),
    gain(large, timings.largeOne.p50, timings.largeMany.p50),
  ];
}
