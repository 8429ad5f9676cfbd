import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');

test('a file of more than 400 lines opens with the reason why it is one file', () => {
  expect(['src', 'sim', 'bench', 'scripts', 'bin'].flatMap(unexplained)).toEqual([]);
});

test('a reason is a sentence in the comment that opens the file', () => {
  const long = '\n'.repeat(400);
  expect(hasReason(`/** Over 400 lines because it is a table. */${long}`)).toBe(true);
  expect(hasReason(`// Rows.\n// Over 400 lines because it is a table.${long}`)).toBe(true);
  expect(hasReason(`/** Over 400 lines because */${long}`)).toBe(false);
  expect(hasReason(`export const a = 1;\n// Over 400 lines because it is a table.${long}`)).toBe(false);
});

/** Over-long files without a reason, each with its length. */
function unexplained(folder: string): string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.[jt]s$/.test(file))
    .flatMap((file) => {
      const text = readFileSync(join(root, folder, file), 'utf8');
      const lines = text.trimEnd().split('\n').length;
      return lines > 400 && !hasReason(text) ? [`${join(folder, file)}: ${lines} lines`] : [];
    });
}

function hasReason(text: string): boolean {
  const [opening = ''] = /^(#!.*\n)?(\/\*[\s\S]*?\*\/|(\/\/.*\n)+)/.exec(text) ?? [];
  return /Over 400 lines because \w[^.]*\./.test(opening);
}
