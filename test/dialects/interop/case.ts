/** What the suite consists of: a real client does something with the fixture server, and sees what it should. */
import { deepEqual } from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../../kit/until.ts';
import type { World } from './world.ts';

/** Cases by their titles. */
export type InteropCases = Readonly<Record<string, (world: World) => Promise<void>>>;

/** What clients of one kind do, by the ends of the titles. */
export type Cases<C> = Readonly<Record<string, (client: C, world: World) => Promise<void>>>;

/** Each case with a client of its own. */
export function casesOf<C extends AsyncDisposable>(
  kind: string,
  connect: (world: World) => Promise<C>,
  cases: Cases<C>,
): InteropCases {
  const connected = (run: Cases<C>[string]) => async (world: World) => {
    await using client = await connect(world);
    await run(client, world);
  };
  return Object.fromEntries(
    Object.entries(cases).map(([title, run]) => [`${kind}: ${title}`, connected(run)]),
  );
}

/** Cases that would disturb each other. */
export function oneByOne(name: string, cases: InteropCases): InteropCases {
  const inTurn = (run: InteropCases[string]) => (world: World) => world.inTurn(name, () => run(world));
  return Object.fromEntries(Object.entries(cases).map(([title, run]) => [title, inTurn(run)]));
}

/** The result of a tool has this text and no other content. */
export function says(result: unknown, text: string): void {
  deepEqual((result as { content?: unknown }).content, [{ type: 'text', text }]);
}

/** The complete lines of a file that a tool writes; none as long as it does not exist. */
export function linesOf(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
}

/** The input of a tool that works until it is stopped, and a way to wait for that. */
export function spinning(world: World) {
  const file = join(world.folder(), 'spun');
  const stopped = () => until(() => linesOf(file).includes('stopped'));
  return { input: { seconds: 600, file }, stopped };
}
