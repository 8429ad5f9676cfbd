/** A real browser that test files share: each connects to it, and what it opens goes when it disconnects. */
import chromium from '@sparticuz/chromium';
import { chromium as playwright } from 'playwright-core';

/** Throws saying why it cannot be started: a test of pages without a browser has not passed. */
export async function launchBrowser() {
  const server = await playwright
    .launchServer({
      host: '127.0.0.1',
      executablePath: await chromium.executablePath(),
      // A part of a tile that is drawn anew alone differs by a shade at round corners from one that is drawn at once.
      args: ['--no-sandbox', '--font-render-hinting=none', '--disable-partial-raster'],
      timeout: 60_000,
    })
    .catch((cause) => {
      throw new Error('The browser that the tests of the dashboard need could not be started.', { cause });
    });
  return { url: server.wsEndpoint(), stop: () => server.close() };
}
