/** Fires bad messages at a server in batches, judges every answer, and looks after each batch what is left of it. */
import fc, { type Arbitrary } from 'fast-check';
import { badMessages, oversizedMessages, sweep, type Way } from './bad-message.ts';
import { type BadMessage, bodyOf } from './draft.ts';
import { type Facts, methods } from './methods.ts';
import { type Answer, idOf, invalidRequest, judge, parseError, read } from './oracle.ts';
import type { Loose } from './requests.ts';
import type { Scene } from './scene.ts';
import type { StdioScene } from './stdio-scene.ts';
import { rawShots } from './wire.ts';

export class Tally {
  sent = 0;
  /** How often each code, each result and each bare status was seen. */
  readonly seen = new Map<string, number>();
  /** How often each requirement was kept. */
  readonly rows = new Map<string, number>();
  /** What was wrong, with the message that it was the answer to. */
  readonly problems: string[] = [];

  /** Sends a message and judges what comes back. */
  async judged({ label, draft, expected, rows }: BadMessage, send: () => Promise<Answer>): Promise<Loose> {
    this.sent++;
    const answer = await send().catch((error: Error) => error);
    if (answer instanceof Error) {
      this.problems.push(`${label} → ${answer.message}`);
      return undefined;
    }
    const said = answer.kind === 'answered' ? read(answer) : undefined;
    increment(this.seen, kindOf(answer, said));
    const problems = judge(draft.message, expected, answer);
    this.problems.push(...problems.map((problem) => `${label} → ${problem}`));
    if (problems.length === 0) for (const row of rows) increment(this.rows, row);
    return said;
  }

  get summary(): string {
    const counts = [...this.seen].sort(([a], [b]) => (a < b ? -1 : 1)).map((pair) => pair.join(' '));
    return `${this.sent} bad messages, ${this.problems.length} problems; answered with ${counts.join(', ')}`;
  }
}

const perBatch = 100;
const enoughProblems = 500;

export function seedOfThisRun(): number {
  const seed = Number(process.env.HOLDFAST_SEED ?? Math.floor(Math.random() * 2 ** 31));
  console.log(`seed ${seed}; to replay: HOLDFAST_SEED=${seed} npm test -- test/fuzz`);
  return seed;
}

/** Over HTTP, all of a batch at the same time. Of a hundred messages one is oversized, and ten are wrong as HTTP. */
export async function fire(scene: Scene, seed: number, messages: number): Promise<Tally> {
  const tally = new Tally();
  const { facts, shooter } = scene;
  const bad = supplyOf(facts, { overHttp: true }, seed);
  const oversized = oversizedMessages(facts);
  const raw = rawShots(methods(facts).map(({ base }) => base));
  for (let batch = 0; tally.sent < messages && tally.problems.length < enoughProblems; batch++) {
    const draw = <T>(what: Arbitrary<T>, count: number) => drawn(what, count, seed + batch);
    const known = await scene.published();
    const told = await Promise.all([
      ...bad.next(perBatch - 11).map((one) => tally.judged(one, () => shooter.send(one.draft))),
      ...draw(oversized, 1).map((one) => tally.judged(one, () => shooter.send(one.draft))),
      ...draw(raw, 10).map((one) => tally.judged(one, () => shooter.sendRaw(one))),
    ]);
    for (const said of told) known.add(said?.result?.taskId);
    const problems = await scene.damage();
    for (const id of await scene.published())
      if (!known.has(id)) problems.push(`a task was made of which nobody was told: ${id}`);
    tally.problems.push(...problems.map((problem) => `after batch ${batch}: ${problem}`));
  }
  return tally;
}

/** What is no request of JSON-RPC may be passed over on stdio. */
const unanswerable = [parseError, invalidRequest];

/** On stdio there is no status, and nobody else. */
const notOnStdio = ['S2026-02', 'S2663-98', 'S2663-99'];

/** Over stdio, one message after the other. */
export async function fireOnStdio(scene: StdioScene, seed: number, messages: number): Promise<Tally> {
  const tally = new Tally();
  const bad = supplyOf(scene.facts, { overHttp: false }, seed);
  for (let batch = 0; tally.sent < messages && tally.problems.length < enoughProblems; batch++) {
    const silent = new Map<unknown, BadMessage>();
    for (const one of bad.next(perBatch)) {
      const { draft, expected } = withOwnId(one, scene.freshId());
      const isNotice = expected.isNotice || unanswerable.some((code) => expected.codes.has(code));
      const id = idOf(draft.message);
      const line = Buffer.from(bodyOf(draft).filter((byte) => byte !== 0x0a));
      const rows = one.rows.filter((row) => !notOnStdio.includes(row));
      const said = await tally.judged({ ...one, rows, expected: { ...expected, isNotice } }, () =>
        scene.send(line, id, isNotice),
      );
      if (said === undefined) silent.set(id, one);
    }
    const problems = await scene.stage.damage();
    for (const said of scene.late.splice(0)) {
      const one = silent.get(said.id);
      if (one) problems.push(...lateProblems(one, said));
      else problems.push(`an answer to nothing: ${JSON.stringify(said).slice(0, 200)}`);
    }
    tally.problems.push(...problems.map((problem) => `after batch ${batch}: ${problem}`));
  }
  return tally;
}

/** On one connection every message has an id of its own. */
export function withOwnId(one: BadMessage, id: string): BadMessage {
  const { draft } = one;
  if (draft.message.id !== 'id') return one;
  draft.message.id = id;
  const text = draft.body?.toString('latin1').replaceAll('"id":"id"', `"id":"${id}"`);
  draft.body = text === undefined ? undefined : Buffer.from(text, 'latin1');
  return one;
}

function lateProblems({ label, draft, expected }: BadMessage, said: Loose): string[] {
  const answer: Answer = { kind: 'answered', text: JSON.stringify(said) };
  return judge(draft.message, expected, answer).map((problem) => `${label} → ${problem}`);
}

export function supplyOf(facts: Facts, way: Way, seed: number): Supply {
  return new Supply(sweep(facts, way), badMessages(facts, way), seed);
}

/** First every flaw of every method once, then whatever the seed makes. */
export class Supply {
  readonly #sweep: Arbitrary<BadMessage>[];
  readonly #random: Arbitrary<BadMessage>;
  #seed: number;

  constructor(sweep: Arbitrary<BadMessage>[], random: Arbitrary<BadMessage>, seed: number) {
    this.#sweep = sweep;
    this.#random = random;
    this.#seed = seed;
  }

  next(count: number): BadMessage[] {
    const swept = this.#sweep.splice(0, count).flatMap((one) => drawn(one, 1, this.#seed++));
    return [...swept, ...this.of(this.#seed++, count - swept.length)];
  }

  /** Those that this very seed makes, each with its name on it. */
  of(seed: number, count: number): BadMessage[] {
    const messages = drawn(this.#random, count, seed);
    return messages.map((one) => ({ ...one, label: `[seed ${seed}] ${one.label}` }));
  }
}

function drawn<T>(what: Arbitrary<T>, count: number, seed: number): T[] {
  return count === 0 ? [] : fc.sample(what, { seed, numRuns: count });
}

function kindOf(answer: Answer, said: Loose): string {
  if (answer.kind !== 'answered') return answer.kind;
  if (said?.error) return String(said.error.code);
  if (said?.result?.isError) return 'isError';
  return said?.result?.resultType ?? said?.method ?? `HTTP ${answer.status}`;
}

function increment(counts: Map<string, number>, what: string): void {
  counts.set(what, (counts.get(what) ?? 0) + 1);
}
