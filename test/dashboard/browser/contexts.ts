/** One Chromium for all tests, with a context for each test that is closed with it. */
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

/** Call once, outside of tests. The returned function opens a context for the current test. */
export function contexts(): () => Promise<BrowserContext> {
  let chromium: Chromium | undefined;
  beforeAll(async () => {
    chromium = await sharedChromium();
  });
  return async () => {
    const context = await chromium!.context();
    onTestFinished(() => context.close());
    return context;
  };
}
