/** A real browser: one for all test files of a run, with a fresh context for each test. */
import { chromium as playwright } from 'playwright-core';
import { launchBrowser } from '../../kit/browser-server.ts';

export interface Look {
  readonly screen?: 'desktop' | 'phone';
  readonly colours?: 'light' | 'dark';
}

/** All screens and colours on which pages must look right. */
export const looks: readonly Required<Look>[] = (['desktop', 'phone'] as const).flatMap((screen) =>
  (['light', 'dark'] as const).map((colours) => ({ screen, colours })),
);

const screens = {
  desktop: { viewport: { width: 1280, height: 800 } },
  phone: { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true },
};

export type Chromium = Awaited<ReturnType<typeof chromiumAt>>;

export async function startChromium(): Promise<Chromium> {
  const server = await launchBrowser();
  return chromiumAt(server.url, () => server.stop());
}

export async function chromiumAt(url: string, stop = async () => {}) {
  const browser = await playwright.connect(url, { timeout: 120_000 });
  const close = () => browser.close().then(stop);
  return {
    browser,
    /** Opens a fresh context without storage or token. */
    context: async ({ screen = 'desktop', colours = 'light' }: Look = {}) => {
      const context = await browser.newContext({
        ...screens[screen],
        colorScheme: colours,
        reducedMotion: 'reduce',
        locale: 'en-GB',
        timezoneId: 'UTC',
      });
      context.setDefaultTimeout(60_000);
      return context;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
