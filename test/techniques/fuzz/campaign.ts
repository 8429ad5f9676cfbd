/** Sends bad messages to servers in batches, judges every answer, and checks after each batch what it left behind. */
import fc, { type Arbitrary } from 'fast-check';
import { expect } from 'vitest';
import { Counts } from '../../kit/counts.ts';
import type { ServerUnderLoad } from '../load/under-load.ts';
import { badMessages, sweep } from './bad-message.ts';
import type { BadMessage, Method } from './draft.ts';
import { type Answer, judge, read } from './oracle.ts';
import { onAPipe } from './talk.ts';

/** One server, or one session of it, that receives bad messages. */
export interface Front {
  readonly methods: readonly Method[];
  /** There is nothing but lines: messages go one after the other, and some may remain unanswered. */
  readonly isPipe?: boolean;
  /** What each batch has besides messages with flaws. */
  extras?(seed: number): BadMessage[];
  send(bad: BadMessage): Promise<Answer>;
  damage(): Promise<string[]>;
  /** Ends what was left open, and returns what did not end well. */
  finish(): Promise<string[]>;
}

export interface Plan {
  readonly messages: number;
  readonly seed: number;
  /** Seeds that come first, and are not counted. */
  readonly kept?: readonly number[];
}

/**
 * Seeds of batches that found a mistake once. A problem is reported with the seed of its batch, `[seed N]`: put it here,
 * and the message itself, made small, into `found.test.ts` or `found-in-sessions.test.ts`, because a changed generator
 * makes other messages of the same seed.
 */
export const keptSeeds: readonly number[] = [1_124_123_479, 113_825_270, 1_004_260_568, 1_647_448_763];

/** A multiple of the number of dialects. */
const perBatch = 140;
const enoughProblems = 300;

/** The quick lane samples, by the seed, what the others do in full. */
export const isQuick = process.env.HOLDFAST_LANE === 'quick';

export class Tally {
  sent = 0;
  /** How often each code, each result and each bare status was seen. */
  readonly seen = new Counts();
  readonly rows = new Set<string>();
  readonly problems: string[] = [];

  async judged({ label, draft, expected, rows }: BadMessage, sent: Promise<Answer>): Promise<void> {
    this.sent++;
    const answer = await sent.catch((error: Error) => error);
    if (answer instanceof Error) return void this.problems.push(`${label} → ${answer.message}`);
    this.seen.add(kindOf(answer));
    const problems = judge(draft.message, expected, answer);
    this.problems.push(...problems.map((problem) => `${label} → ${problem}`));
    if (problems.length === 0) for (const row of rows) this.rows.add(row);
  }

  expectUnhurt(messages: number): void {
    console.log(`${this.sent} bad messages, ${this.problems.length} problems; answers: ${this.seen}`);
    expect(this.problems.slice(0, 10)).toEqual([]);
    expect(this.sent).toBeGreaterThanOrEqual(messages);
  }
}

/** `server` is the process that all fronts belong to, if it is not this one. */
export async function fire(fronts: readonly Front[], plan: Plan, server?: ServerUnderLoad): Promise<Tally> {
  const { messages, seed, kept = [] } = plan;
  // Otherwise what is remembered of the tasks that messages make would look as if it were lost.
  if (messages >= 1_000) await server?.ask('full');
  const tally = new Tally();
  const share = Math.min(perBatch, messages) / fronts.length;
  const supplies = fronts.map((front) => supplyOf(front.methods, seed, messages / fronts.length));
  const shoot = async (batch: string, bad: (supply: Supply, front: Front) => BadMessage[]) => {
    await Promise.all(fronts.map((front, n) => sendAll(tally, front, bad(supplies[n]!, front))));
    const damage = await Promise.all(fronts.map((front) => inTime(front.damage())));
    const problems = [...((await server?.ask('mistakes')) ?? []), ...damage.flat()];
    tally.problems.push(...problems.map((one) => `after ${batch}: ${one}`));
  };
  for (const one of kept) await shoot(`seed ${one}`, (supply) => supply.of(one, share));
  const first = tally.sent;
  let early: number | undefined;
  while (tally.sent - first < messages && tally.problems.length < enoughProblems) {
    await shoot(`${tally.sent} messages`, (supply, front) => {
      const extras = front.extras?.(seed + tally.sent) ?? [];
      return [...supply.next(share - extras.length), ...extras];
    });
    if (tally.sent - first >= messages / 10) early ??= (await server?.ask('memory'))?.bytes;
  }
  const late = (await server?.ask('memory'))?.bytes;
  if (early !== undefined && late! > 1.1 * early) tally.problems.push(`it held ${early} bytes, then ${late}`);
  const ends = await Promise.all(fronts.map((front) => inTime(front.finish())));
  tally.problems.push(...ends.flat(), ...(server?.complaints ? [server.complaints] : []));
  return tally;
}

async function sendAll(tally: Tally, front: Front, bad: readonly BadMessage[]): Promise<void> {
  if (!front.isPipe) await Promise.all(bad.map((one) => tally.judged(one, inTime(front.send(one)))));
  else for (const one of bad.map(onAPipe)) await tally.judged(one, inTime(front.send(one)));
}

/** No answer takes so long, unless there is none. */
async function inTime<T>(answered: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('there was no answer')), 60_000);
  return Promise.race([answered, promise]).finally(() => clearTimeout(timer));
}

type Supply = ReturnType<typeof supplyOf>;

/**
 * First every flaw of every method once, or as many as half of the messages if that is too much, then whatever the seed
 * makes. One message of each requirement is always among them.
 */
function supplyOf(methods: readonly Method[], firstSeed: number, messages: number) {
  let nextSeed = firstSeed;
  const random = badMessages(methods);
  const once = sweep(methods).flatMap((one, n) => drawn(one, 1, firstSeed + n));
  const [all = []] = drawn(fc.shuffledSubarray(once, { minLength: once.length }), 1, firstSeed);
  const byRow = new Map(all.flatMap((one) => one.rows.map((row) => [row, one])));
  const count = all.length <= messages ? all.length : messages / 2;
  const left = [...new Set([...byRow.values(), ...all])].slice(0, count);

  /** Those that this very seed makes, each labelled with it. */
  const of = (seed: number, count: number): BadMessage[] =>
    drawn(random, count, seed).map((one) => ({ ...one, label: `[seed ${seed}] ${one.label}` }));
  const next = (count: number): BadMessage[] => {
    const swept = left.splice(0, count);
    return [...swept, ...of(nextSeed++, count - swept.length)];
  };
  return { of, next };
}

export function drawn<T>(what: Arbitrary<T>, count: number, seed: number): T[] {
  return count === 0 ? [] : fc.sample(what, { seed, numRuns: count });
}

function kindOf(answer: Answer): string {
  if (answer.kind !== 'answered') return answer.kind;
  const { error, result, method } = read(answer) ?? {};
  if (error) return String(error.code);
  return result?.isError ? 'isError' : (result?.resultType ?? method ?? `HTTP ${answer.status}`);
}
