/** `npm run screens` draws every state of the dashboard; docs/screens/ has a picture of each, and nothing else. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { smaller } from '../../scripts/screens/png.ts';
import { pictureName, screens } from '../../scripts/screens/screens.ts';
import { openStudio, type Studio, stillPicture } from '../../scripts/screens/studio.ts';

// A machine that does several things at once is slow, not wrong.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const folder = join(import.meta.dirname, '../../docs/screens');
const names = screens.flatMap((screen) => screen.looks.map((look) => pictureName(screen, look)));

let studio: Studio;
beforeAll(async () => {
  studio = await openStudio();
});
afterAll(() => studio?.[Symbol.asyncDispose]());

test('every state has its pictures, and every picture its state', () => {
  expect(readdirSync(folder).toSorted()).toEqual(names.toSorted());
});

test('no two states have pictures of the same name', () => {
  expect(new Set(names).size).toBe(names.length);
});

test.each(['sign-in-wrong-token', 'overview-offline', 'task-completed'])(
  '%s is the same picture, to the byte, whenever it is taken',
  async (name) => {
    const screen = screens.find((one) => one.name === name)!;
    const look = screen.looks.at(-1)!;
    const [first, second] = await Promise.all([
      studio.show(screen, look, (page) => stillPicture(page, screen)),
      studio.show(screen, look, (page) => stillPicture(page, screen)),
    ]);
    expect(smaller(second).equals(smaller(first))).toBe(true);
  },
);

test('a picture is made smaller by far, and looks the same', async () => {
  const screen = screens.find(({ name }) => name === 'task-crash')!;
  await studio.show(screen, screen.looks[0]!, async (page) => {
    const before = await stillPicture(page, screen);
    const after = smaller(before);
    expect(after.length).toBeLessThan(before.length / 2);
    const compare = differences(before.toString('base64'), after.toString('base64'));
    const { isSameSize, share } = await page.evaluate<{ isSameSize: boolean; share: number }>(compare);
    expect(isSameSize).toBe(true);
    expect(share).toBeLessThan(0.001);
  });
});

/** In a page: how many of the pixels of two pictures are different enough to be seen. */
function differences(one: string, other: string): string {
  return `(async () => {
    const pixels = async (data) => {
      const image = new Image();
      image.src = 'data:image/png;base64,' + data;
      await image.decode();
      const paper = new OffscreenCanvas(image.width, image.height).getContext('2d');
      paper.drawImage(image, 0, 0);
      return paper.getImageData(0, 0, image.width, image.height);
    };
    const [a, b] = await Promise.all([pixels('${one}'), pixels('${other}')]);
    const far = a.data.filter((channel, at) => Math.abs(channel - b.data[at]) > 24).length;
    return { isSameSize: a.width === b.width && a.height === b.height, share: far / a.data.length };
  })()`;
}
