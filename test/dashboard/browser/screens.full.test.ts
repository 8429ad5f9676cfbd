/** `npm run screens` takes a picture of every state of the dashboard; docs/screens/ contains exactly these. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { smaller } from '../../../scripts/screens/png.ts';
import { pictureName, screens } from '../../../scripts/screens/screens.ts';
import { openStudio, type Studio, stillPicture } from '../../../scripts/screens/studio.ts';
import { sharedChromium } from './contexts.ts';

const folder = join(import.meta.dirname, '../../../docs/screens');
const names = screens.flatMap((screen) => screen.looks.map((look) => pictureName(screen, look)));

let studio: Studio;
beforeAll(async () => {
  studio = await openStudio(sharedChromium);
});
afterAll(() => studio?.[Symbol.asyncDispose]());

test('docs/screens/ contains exactly the pictures of all states', () => {
  expect(readdirSync(folder).toSorted()).toEqual(names.toSorted());
});

test('the names of pictures are unique', () => {
  expect(new Set(names).size).toBe(names.length);
});

test.each(['sign-in-wrong-token', 'overview-offline', 'task-crash'])(
  'the picture of %s is reproducible, and looks the same when compressed',
  async (name) => {
    const screen = screens.find((one) => one.name === name)!;
    const look = screen.looks.at(-1)!;
    const first = await studio.show(screen, look, (page) => stillPicture(page, screen));
    await studio.show(screen, look, async (page) => {
      const second = await stillPicture(page, screen);
      const small = smaller(second);
      expect(small.length).toBeLessThan(second.length / 2);
      expect(await difference(page, first, second)).toBeLessThan(0.001);
      expect(await difference(page, second, small)).toBeLessThan(0.001);
    });
  },
);

/** The share of channels that differ visibly between two pictures; 1 if the sizes differ. */
function difference(page: Page, one: Buffer, other: Buffer): Promise<number> {
  return page.evaluate<number>(`(async () => {
    const pixels = async (data) => {
      const image = new Image();
      image.src = 'data:image/png;base64,' + data;
      await image.decode();
      const paper = new OffscreenCanvas(image.width, image.height).getContext('2d');
      paper.drawImage(image, 0, 0);
      return paper.getImageData(0, 0, image.width, image.height);
    };
    const a = await pixels('${one.toString('base64')}');
    const b = await pixels('${other.toString('base64')}');
    if (a.width !== b.width || a.height !== b.height) return 1;
    return a.data.filter((channel, at) => Math.abs(channel - b.data[at]) > 24).length / a.data.length;
  })()`);
}
