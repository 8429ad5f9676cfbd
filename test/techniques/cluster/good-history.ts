/**
 * A history in which nothing is wrong, made by hand: one errand, which was taken over from a worker that was killed.
 */

import { programme, type Returned } from '../../../scripts/chaos/cluster/errand.ts';
import type { Attempt, Began, Entry, Seen } from '../../../scripts/chaos/cluster/history.ts';

export const task = 'errand';
export const legs = ['leg-0', 'leg-1'];
/** The last step of the first pass; the kill meets the step after it. */
const lastBefore = 'cast-off';
const hit = 'sail';

export class Story {
  readonly entries: Entry[] = [];
  #now = 0;

  /** Adds something that happens a while later, and gives the moment. */
  tick(ms = 10): number {
    this.#now += ms;
    return this.#now;
  }

  attempt(line: Partial<Began> & Pick<Began, 'task' | 'step' | 'knows'>): string {
    const nonce = line.nonce ?? `${line.task}/${line.step}`;
    const common = { root: task, attempt: 1, pass: 1, process: 'worker-1', ...line, nonce };
    this.entries.push({ ...common, what: 'began', at: this.tick() });
    this.entries.push({ ...common, what: 'did', at: this.tick() });
    return nonce;
  }

  look(seen: Partial<Seen> & Pick<Seen, 'status'>, server = 'server-1'): void {
    const shown = { updatedAt: stamp(this.#now), progress: 0, questions: [], ...seen };
    this.entries.push({ what: 'polled', task, server, from: this.tick(1), at: this.tick(1), seen: shown });
  }

  /** Runs steps, and gives what the handler knows afterwards. */
  steps(
    of: string,
    steps: readonly string[],
    { knows = {}, pass = 1, process = 'worker-1' }: Partial<Pick<Attempt, 'knows' | 'pass' | 'process'>> = {},
  ): Record<string, string> {
    const known = { ...knows };
    for (const step of steps) {
      const received = { 'leave-given': 'aye', piloted: 'aye aye' }[step];
      known[step] = this.attempt({
        task: of,
        step,
        knows: { ...known },
        pass,
        process,
        ...(received !== undefined && { received }),
      });
    }
    return known;
  }
}

export function goodHistory(): Entry[] {
  const story = new Story();
  const { entries } = story;
  for (const process of ['worker-1', 'worker-2'])
    entries.push({ what: 'fate', process, role: 'worker', fate: 'ready', at: story.tick() });
  entries.push({ what: 'ordered', key: 'first', at: story.tick() });
  const request = { server: 'server-1', from: story.tick(), at: story.tick() };
  entries.push({ what: 'created', key: 'first', task, ...request });
  entries.push({ what: 'opened', stream: 1, task, server: 'server-2', at: story.tick() });

  const { errand } = programme;
  const until = errand.indexOf(lastBefore) + 1;
  const before = story.steps(task, errand.slice(0, until));
  const held = { task, root: task, step: hit, attempt: 1, pass: 1, process: 'worker-1', knows: before };
  entries.push({ ...held, what: 'began', nonce: 'in vain', at: story.tick() });
  entries.push({ what: 'fate', process: 'worker-1', role: 'worker', fate: 'killed', at: story.tick() });
  story.look({ status: 'working', progress: 1 });
  story.tick(800);

  const second = { pass: 2, process: 'worker-2' };
  const sailed = story.steps(task, [hit], { ...second, knows: before });
  story.look({ status: 'input_required', progress: 1, questions: ['leave'] }, 'server-2');
  answer('leave', 'aye');
  story.look({ status: 'working', progress: 1 });
  const embark = errand.indexOf('embark') + 1;
  const embarked = story.steps(task, errand.slice(until + 1, embark), { ...second, knows: sailed });
  const returned = legs.map((id, number) => ({
    id,
    steps: story.steps(id, programme.legs[number]!, { process: 'worker-2' }),
  }));
  answer('1/pilot', 'aye aye');
  const steps = story.steps(task, errand.slice(embark), { ...second, knows: embarked });

  const result = resultOf({ steps, legs: returned });
  const end = { status: 'completed' as const, progress: 4, updatedAt: stamp(story.tick()), result };
  entries.push({ what: 'notified', stream: 1, task, at: story.tick(), seen: { ...end, questions: [] } });
  entries.push({ what: 'closed', stream: 1, at: story.tick(), by: 'us' });
  story.look(end, 'server-1');
  story.look(end, 'server-2');
  for (let version = 1; version <= 3; version++)
    entries.push({ what: 'commit', task, version, at: story.tick() });
  entries.push({ what: 'stored', task, version: 3, settled: [0, 1, 2] });
  return entries;

  function answer(question: string, words: string): void {
    const request = { server: 'server-1', from: story.tick(), at: story.tick() };
    entries.push({ what: 'answered', task, question, words, ...request });
  }
}

export function resultOf(returned: Returned): string {
  return JSON.stringify({ content: [{ type: 'text', text: JSON.stringify(returned) }] });
}

function stamp(at: number): string {
  return new Date(at).toISOString();
}
