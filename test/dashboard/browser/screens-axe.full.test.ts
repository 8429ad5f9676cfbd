/** Checks every state of `npm run screens` with axe-core, each in one of the four looks. */
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { screens } from '../../../scripts/screens/screens.ts';
import { openStudio, type Studio } from '../../../scripts/screens/studio.ts';
import { looks } from './chromium.ts';
import { sharedChromium } from './contexts.ts';
import { overflow } from './in-page.ts';

let studio: Studio;
beforeAll(async () => {
  studio = await openStudio(sharedChromium);
});
afterAll(() => studio?.[Symbol.asyncDispose]());

describe.each(looks.map((look, turn) => ({ ...look, turn })))(
  'on a $screen in the $colours',
  ({ turn, ...look }) => {
    const shown = screens.filter((_, index) => index % looks.length === turn);

    test.each(shown)(
      '$name has no serious or critical issue, and nothing is wider than the screen',
      (screen) =>
        studio.show(screen, look, async (page) => {
          expect(await complaints(page)).toEqual([]);
          expect(await page.evaluate<number>(overflow)).toBeLessThanOrEqual(0);
        }),
    );
  },
);

async function complaints(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<axe.AxeResults>(`axe.run({ resultTypes: ['violations'] })`);
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`);
}
