/** Files are split by idea, not by line count; but a file of 700 lines holds more than one idea. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const folders = ['src', 'sim', 'bench', 'scripts', 'bin', 'dashboard/src'];

test('no file has more than 700 lines, and those with more than 400 are listed', () => {
  const long = folders.flatMap((folder) => longerThan(400, folder));
  console.log(['Files with more than 400 lines:', ...long.map(({ told }) => told)].join('\n  '));
  expect(long.filter(({ lines }) => lines > 700)).toEqual([]);
});

function longerThan(most: number, folder: string): { readonly told: string; readonly lines: number }[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.[jt]sx?$/.test(file) && !file.includes('node_modules'))
    .flatMap((file) => {
      const lines = readFileSync(join(root, folder, file), 'utf8')
        .trimEnd()
        .split('\n').length;
      return lines > most ? [{ told: `${join(folder, file)}: ${lines}`, lines }] : [];
    });
}
