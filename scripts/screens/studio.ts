/** Brings the dashboard into a state and holds it there: no clock goes on, nothing moves, nothing is drawn by chance. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { build } from 'vite';
import { type Chromium, type Look, startChromium } from '../../test/browser/chromium.ts';
import { type Screen, worlds } from './screens.ts';
import { goodToken, servePictures } from './server.ts';

const dashboard = join(import.meta.dirname, '../../dashboard');

export interface Studio extends AsyncDisposable {
  /** Shows a screen, lets `see` look at it, and clears everything away. */
  show<T>(screen: Screen, look: Required<Look>, see: (page: Page) => Promise<T>): Promise<T>;
}

/** Builds the dashboard as it is now, beside whatever was built before, and starts a browser. */
export async function openStudio(): Promise<Studio> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-screens-'));
  await build({ root: dashboard, logLevel: 'warn', build: { outDir: folder, emptyOutDir: true } });
  const chromium = await startChromium();
  return {
    show: (screen, look, see) => show(chromium, folder, screen, look, see),
    [Symbol.asyncDispose]: async () => {
      await chromium.close();
      await rm(folder, { recursive: true });
    },
  };
}

async function show<T>(
  chromium: Chromium,
  folder: string,
  screen: Screen,
  look: Required<Look>,
  see: (page: Page) => Promise<T>,
): Promise<T> {
  const world = worlds[screen.world ?? 'busy'];
  await using server = await servePictures(world, folder, screen.trouble);
  const context = await chromium.context(look);
  try {
    const page = await context.newPage();
    await page.clock.setFixedTime(world.now);
    await page.addInitScript(() => {
      Math.random = () => 0.5;
    });
    const token = screen.isSignedOut ? '' : `#token=${goodToken}`;
    await page.goto(`${server.url}${screen.at}${token}`);
    await screen.arrange?.(page, server);
    await page.waitForSelector(screen.shows);
    return await see(page);
  } finally {
    await context.close();
  }
}

/**
 * A page is still once two pictures of it in a row are the same. For a picture of all of it the window grows to its
 * height: what is out of sight is not even drawn by some of its parts.
 */
export async function stillPicture(page: Page, extent: Screen['extent']): Promise<Buffer> {
  await page.evaluate('document.fonts.ready.then(() => {})');
  let last = await take(page, extent);
  for (let tries = 0; tries < 30; tries++) {
    await page.waitForTimeout(100);
    const next = await take(page, extent);
    if (next.equals(last)) return next;
    last = next;
  }
  throw new Error('The page does not keep still, so no picture of it would be the same twice.');
}

async function take(page: Page, extent: Screen['extent']): Promise<Buffer> {
  const { width, height } = page.viewportSize()!;
  if (extent === 'page') {
    const wanted = await page.evaluate<number>('document.documentElement.scrollHeight');
    if (wanted > height) await page.setViewportSize({ width, height: wanted });
  }
  return page.screenshot({ animations: 'disabled', scale: 'css' });
}
