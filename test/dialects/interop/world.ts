/**
 * What the test files of `npm run interop` have in common: servers that start with the first test that needs them, and
 * tests with a client each.
 */
import { deepEqual } from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, test } from 'vitest';
import { temporaryFolder } from '../../kit/lifetime.ts';
import { linesOf } from '../../kit/text.ts';
import { until } from '../../kit/until.ts';
import { startFixture } from './fixture.ts';

const root = temporaryFolder();

export const folder = () => mkdtempSync(join(root, 'case-'));

/** Opened by the first test of a file that needs it, and closed when all have ended. */
export function shared<T extends AsyncDisposable>(open: () => Promise<T>): () => Promise<T> {
  let opened: Promise<T> | undefined;
  afterAll(async () => (await opened)?.[Symbol.asyncDispose]());
  return () => (opened ??= open());
}

const fixture = shared(() => startFixture());
const guardedFixture = shared(() => startFixture('--tokens', 'token-of-ada=ada,token-of-bob=bob'));

export const fixtureUrl = async () => (await fixture()).url;

/** A server that tells its callers apart, and what every request of one of them must carry. */
export async function guarded(owner: 'ada' | 'bob') {
  const { url } = await guardedFixture();
  return { url, requestInit: { headers: { authorization: `Bearer token-of-${owner}` } } };
}

/** A server of one test, which can be killed and started again on its store. */
export const lasting = () => startFixture('--store', `sqlite:${join(folder(), 'tasks.db')}`);

/** Registers tests of one kind of client, each with a client of its own. */
export const testsOf =
  <C extends AsyncDisposable>(kind: string, connect: () => Promise<C>) =>
  (title: string, run: (client: C) => Promise<void>): void =>
    test.concurrent(`${kind}: ${title}`, async () => {
      await using client = await connect();
      await run(client);
    });

export function says(result: unknown, text: string): void {
  deepEqual((result as { content?: unknown }).content, [{ type: 'text', text }]);
}

/** The input of a tool that works until it is stopped, and a way to wait for that. */
export function spinning() {
  const file = join(folder(), 'spun');
  const stopped = () => until(() => linesOf(file).includes('stopped'));
  return { input: { seconds: 600, file }, stopped };
}
