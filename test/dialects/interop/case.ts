/** What the suite consists of: a real client does something with the fixture server, and sees what it should. */
import { deepEqual } from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { until as untilWithin } from '../../kit/until.ts';
import type { World } from './world.ts';

export interface InteropCase {
  readonly title: string;
  run(world: World): Promise<void>;
}

/** What clients of one kind do, by the title. */
export type Cases<C> = Readonly<Record<string, (client: C, world: World) => Promise<void>>>;

/** Each case with a client of its own. */
export function casesOf<C extends AsyncDisposable>(
  kind: string,
  connect: (world: World) => Promise<C>,
  cases: Cases<C>,
): InteropCase[] {
  return Object.entries(cases).map(([title, run]) => ({
    title: `${kind}: ${title}`,
    async run(world) {
      await using client = await connect(world);
      await run(client, world);
    },
  }));
}

/** Cases that need no client beforehand, by their whole titles. */
export function titled(cases: Readonly<Record<string, InteropCase['run']>>): InteropCase[] {
  return Object.entries(cases).map(([title, run]) => ({ title, run }));
}

/** Cases that would disturb each other. */
export function oneByOne(name: string, cases: readonly InteropCase[]): InteropCase[] {
  return cases.map(({ title, run }) => ({ title, run: (world) => world.inTurn(name, () => run(world)) }));
}

/** The result of a tool has this text and no other content. */
export function says(result: unknown, text: string): void {
  deepEqual((result as { content?: unknown }).content, [{ type: 'text', text }]);
}

export function textOf({ content }: Record<string, unknown>): string {
  return (content as { text?: string }[]).map(({ text = '' }) => text).join('\n');
}

/** The complete lines of a file that a tool writes; none as long as it does not exist. */
export function linesOf(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
}

/** The input of a tool that works until it is stopped, and a way to wait for that. */
export function spinning(world: World) {
  const file = join(world.folder(), 'spun');
  return {
    input: { seconds: 600, file },
    stopped: () => until(() => linesOf(file).includes('stopped')),
  };
}

export function until(isSo: () => boolean): Promise<void> {
  return untilWithin(isSo, 60_000);
}
