/** Shows a state of the dashboard and freezes it: no clock, no motion, no randomness. */
import type { Page } from 'playwright-core';
import { builtDashboard } from '../../test/dashboard/browser/built.ts';
import { type Chromium, type Look, startChromium } from '../../test/dashboard/browser/chromium.ts';
import { type Screen, worlds } from './screens.ts';
import { goodToken, servePictures } from './server.ts';

export interface Studio extends AsyncDisposable {
  /** Shows a screen, passes the page to `see`, and cleans up. */
  show<T>(screen: Screen, look: Required<Look>, see: (page: Page) => Promise<T>): Promise<T>;
}

/** Builds the dashboard if it is older than its sources, and opens a browser. */
export async function openStudio(open: () => Promise<Chromium> = startChromium): Promise<Studio> {
  await builtDashboard();
  const chromium = await open();
  return {
    show: (screen, look, see) => show(chromium, screen, look, see),
    [Symbol.asyncDispose]: () => chromium.close(),
  };
}

async function show<T>(
  chromium: Chromium,
  screen: Screen,
  look: Required<Look>,
  see: (page: Page) => Promise<T>,
): Promise<T> {
  const world = worlds[screen.world ?? 'busy'];
  await using server = await servePictures(world, screen.trouble);
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
    // Move the pointer away, because hovered elements look different.
    await page.mouse.move(0, 0);
    await page.waitForSelector(screen.shows);
    return await see(page);
  } finally {
    await context.close();
  }
}

/**
 * Takes pictures until two in a row are the same. For a picture of the whole page the window grows to its height,
 * because some parts render only what is in sight.
 */
export async function stillPicture(page: Page, { extent, parts }: Screen): Promise<Buffer> {
  await page.evaluate('document.fonts.ready.then(() => {})');
  let last = await take(page, extent, parts);
  for (let tries = 0; tries < 30; tries++) {
    await page.waitForTimeout(100);
    const next = await take(page, extent, parts);
    if (next.equals(last)) return next;
    last = next;
  }
  throw new Error('The page keeps changing, so its picture would not be reproducible.');
}

async function take(page: Page, extent: Screen['extent'], parts: Screen['parts']): Promise<Buffer> {
  const { width, height } = page.viewportSize()!;
  if (extent === 'page') {
    const wanted = await page.evaluate<number>('document.documentElement.scrollHeight');
    if (wanted > height) await page.setViewportSize({ width, height: wanted });
  }
  const clip = parts && (await around(page, parts));
  return page.screenshot({ animations: 'disabled', scale: 'css', ...(clip && { clip }) });
}

const margin = 16;

/** The bounding box of all elements, with a margin. */
async function around(page: Page, selectors: readonly string[]) {
  const boxes = await Promise.all(selectors.map((selector) => page.locator(selector).boundingBox()));
  const found = boxes.filter((box) => box !== null);
  const x = Math.min(...found.map((box) => box.x)) - margin;
  const y = Math.min(...found.map((box) => box.y)) - margin;
  const right = Math.max(...found.map((box) => box.x + box.width)) + margin;
  const bottom = Math.max(...found.map((box) => box.y + box.height)) + margin;
  return { x, y, width: right - x, height: bottom - y };
}
