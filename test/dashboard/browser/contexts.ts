/** One Chromium for all tests, and for each of them windows of its own that go with it. */
import type { BrowserContext } from 'playwright-core';
import { beforeAll, onTestFinished } from 'vitest';
import { urlOf } from '../../kit/ask.ts';
import { atEnd } from '../../kit/lifetime.ts';
import { type Chromium, chromiumAt } from './chromium.ts';

export async function sharedChromium(): Promise<Chromium> {
  const chromium = await chromiumAt(await urlOf('browser'));
  atEnd(() => chromium.close());
  return chromium;
}

/** To be called once, outside of tests; what it gives makes a context for the test that asks. */
export function contexts(): () => Promise<BrowserContext> {
  let chromium: Chromium | undefined;
  beforeAll(async () => {
    chromium = await sharedChromium();
  });
  return async () => {
    const made = await chromium!.context();
    onTestFinished(() => made.close());
    return made;
  };
}
