/** Random plans of trees: at most five levels and sixty tasks. */
import type { Random } from '../../kit/random.ts';
import type { Act, End, Fate, Plan, ToolName } from './grown-tools.ts';

const deepest = 5;
const largest = 60;

export function randomPlan(random: Random): Plan {
  const size = random.oneOf([
    random.between(1, 5),
    random.between(4, 12),
    random.between(8, 20),
    random.between(8, 20),
    random.between(15, largest),
  ]);
  let left = size - 1;

  const grown = (label: string, depth: number): Plan => {
    const acts: Act[] = [];
    let started = 0;
    const length = depth === 1 ? random.between(2, 14) : random.between(0, 9);
    for (let n = 0; n < length; n++) {
      const act = randomAct(random, started);
      if (act !== 'start') acts.push(act);
      else if (left > 0 && depth < deepest) {
        left--;
        acts.push({ do: 'start', plan: grown(`${label}.${++started}`, depth + 1) });
      }
    }
    if (random.chance(0.5))
      for (let n = 0; n < started; n++) acts.push({ do: 'join', n, orThrow: random.chance(0.1) });
    return { label, acts, end: random.weighted(ends), tool: randomTool(random, depth) };
  };

  return grown('t', 1);
}

const kinds = { start: 55, ask: 12, sleep: 7, step: 6, say: 4, poll: 4, join: 6, stop: 6 };
const ends: Readonly<Record<End, number>> = { result: 66, error: 8, throw: 8, fail: 6, hang: 12 };

function randomAct(random: Random, started: number): Act | 'start' {
  const kind = random.weighted(kinds);
  const fate = random.oneOf<Fate>(['accept', 'decline', 'update', 'update', 'leave']);
  if (kind === 'start') return kind;
  if (kind === 'ask') return { do: kind, key: 'ok', fate, aside: fate === 'leave' || random.chance(0.3) };
  if (kind === 'sleep') return { do: kind, ms: random.between(1, 5) };
  if (kind === 'say') return { do: kind, words: `at ${random.below(4)}` };
  if (kind === 'poll') return { do: kind, ms: random.between(1, 9) * 100 };
  if (kind === 'step' || started === 0) return { do: 'step' };
  const n = random.below(started);
  return kind === 'join' ? { do: kind, n, orThrow: random.chance(0.2) } : { do: kind, n };
}

function randomTool(random: Random, depth: number): ToolName {
  if (random.chance(0.03)) return 'grow_briefly';
  return depth === 1 && random.chance(0.2) ? 'grow_freely' : 'grow';
}

/** Those that a task with this plan may ask for. */
export function ownKeys({ acts }: Plan): string[] {
  const asked = acts.filter((act) => act.do === 'ask');
  return asked.map(({ key }, n) => (n === 0 ? key : `${key}~${n + 1}`));
}

/** In the order in which they are started. */
export function plannedChildren({ acts }: Plan): Plan[] {
  return acts.filter((act) => act.do === 'start').map(({ plan }) => plan);
}
