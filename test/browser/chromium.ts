/** A real browser for tests: one for each test file, with a fresh context for each look at the dashboard. */
import chromium from '@sparticuz/chromium';
import { type Browser, type BrowserContext, chromium as playwright } from 'playwright-core';

export interface Look {
  readonly screen?: 'desktop' | 'phone';
  readonly colours?: 'light' | 'dark';
}

/** All that pages must look right on. */
export const looks: readonly Required<Look>[] = [
  { screen: 'desktop', colours: 'light' },
  { screen: 'desktop', colours: 'dark' },
  { screen: 'phone', colours: 'light' },
  { screen: 'phone', colours: 'dark' },
];

const screens = {
  desktop: { viewport: { width: 1280, height: 800 } },
  phone: { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true },
};

export interface Chromium extends AsyncDisposable {
  readonly browser: Browser;
  /** A context of its own: no storage, no token, nothing of the ones before. */
  context(look?: Look): Promise<BrowserContext>;
  close(): Promise<void>;
}

/** Starts the browser, or throws saying why it cannot: a test of pages without a browser has not passed. */
export async function startChromium(): Promise<Chromium> {
  const browser = await playwright
    .launch({
      executablePath: await chromium.executablePath(),
      // A part of a tile that is drawn anew alone differs by a shade at round corners from one that is drawn at once.
      args: ['--no-sandbox', '--font-render-hinting=none', '--disable-partial-raster'],
      timeout: 60_000,
    })
    .catch((cause) => {
      throw new Error('The browser that the tests of the dashboard need could not be started.', { cause });
    });
  const close = () => browser.close();
  return {
    browser,
    context: async ({ screen = 'desktop', colours = 'light' } = {}) => {
      const context = await browser.newContext({
        ...screens[screen],
        colorScheme: colours,
        reducedMotion: 'reduce',
        locale: 'en-GB',
        timezoneId: 'UTC',
      });
      context.setDefaultTimeout(30_000);
      return context;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
