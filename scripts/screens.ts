/**
 * `npm run screens` takes a picture of every state of the dashboard and writes it to docs/screens/. Two runs on one
 * machine give the same bytes. `npm run screens -- list` takes only pictures whose names start with `list`;
 * `HOLDFAST_SCREENS=FOLDER` writes them to another folder, for comparison.
 */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { smaller } from './screens/png.ts';
import { pictureName, screens } from './screens/screens.ts';
import { openStudio, stillPicture } from './screens/studio.ts';

const folder = process.env.HOLDFAST_SCREENS ?? join(import.meta.dirname, '../docs/screens');
const wanted = process.argv.slice(2);
const isWanted = (name: string) => wanted.length === 0 || wanted.some((one) => name.startsWith(one));

mkdirSync(folder, { recursive: true });
if (wanted.length === 0)
  for (const file of readdirSync(folder)) if (file.endsWith('.png')) rmSync(join(folder, file));

await using studio = await openStudio();
let bytes = 0;
let pictures = 0;
for (const screen of screens.filter(({ name }) => isWanted(name)))
  for (const look of screen.looks) {
    const file = pictureName(screen, look);
    const picture = smaller(await studio.show(screen, look, (page) => stillPicture(page, screen)));
    writeFileSync(join(folder, file), picture);
    bytes += picture.length;
    pictures++;
    console.log(file, picture.length);
  }
console.log(`screens: ${pictures} pictures, ${Math.round(bytes / 1_024)} KiB`);
