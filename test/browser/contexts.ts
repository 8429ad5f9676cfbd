/** One Chromium for the tests of a file, and for each of them windows of its own that go with it. */
import type { BrowserContext } from 'playwright-core';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { type Chromium, startChromium } from './chromium.ts';

/** To be called once, outside of tests; what it gives makes a context for the test that asks. */
export function contexts(): () => Promise<BrowserContext> {
  let chromium: Chromium | undefined;
  beforeAll(async () => {
    chromium = await startChromium();
  });
  afterAll(() => chromium?.close());
  return async () => {
    const made = await chromium!.context();
    onTestFinished(() => made.close());
    return made;
  };
}
