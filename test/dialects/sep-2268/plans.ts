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
    return { label, acts, end: randomEnd(random), tool: randomTool(random, depth) };
  };

  return grown('t', 1);
}

function randomAct(random: Random, started: number): Act | 'start' {
  const kind = random.between(1, 100);
  if (kind <= 55) return 'start';
  if (kind <= 67) {
    const fate = random.oneOf<Fate>(['accept', 'decline', 'update', 'update', 'leave']);
    return { do: 'ask', key: 'ok', fate, aside: fate === 'leave' || random.chance(0.3) };
  }
  if (kind <= 74) return { do: 'sleep', ms: random.between(1, 5) };
  if (kind <= 80) return { do: 'step' };
  if (kind <= 84) return { do: 'say', words: `at ${kind}` };
  if (kind <= 88) return { do: 'poll', ms: random.between(1, 9) * 100 };
  if (started === 0) return { do: 'step' };
  const n = random.between(0, started - 1);
  return kind <= 94 ? { do: 'join', n, orThrow: random.chance(0.2) } : { do: 'stop', n };
}

function randomEnd(random: Random): End {
  const kind = random.between(1, 100);
  if (kind <= 66) return 'result';
  if (kind <= 74) return 'error';
  if (kind <= 82) return 'throw';
  return kind <= 88 ? 'fail' : 'hang';
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
