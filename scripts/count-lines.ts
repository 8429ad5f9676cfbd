/**
 * `node scripts/count-lines.ts [folder …]`: lines of code in `src/` (or the given folders), without tests, comments and
 * blank lines, and the number of files.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const folders = process.argv.length > 2 ? process.argv.slice(2) : ['src'];

function codeLines(text: string): number {
  // Removes only comments at the start of a line. Others are on a line with code, which counts.
  const code = text.replace(/^\s*\/\*[\s\S]*?\*\/[ \t]*$/gm, '').replace(/^\s*\/\/.*$/gm, '');
  return code.split('\n').filter((line) => line.trim() !== '').length;
}

function filesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file) && !/\.test(-d)?\.ts$/.test(file))
    .map((file) => join(folder, file));
}

const parts = new Map<string, { files: number; lines: number }>();
for (const folder of folders)
  for (const file of filesIn(folder)) {
    const [, part = ''] = file.split('/');
    const name = /\.tsx?$/.test(part) ? '(entries)' : part;
    const sum = parts.get(name) ?? { files: 0, lines: 0 };
    sum.files++;
    sum.lines += codeLines(readFileSync(join(root, file), 'utf8'));
    parts.set(name, sum);
  }
const all = [...parts.values()];
for (const [name, { files, lines }] of [...parts].sort())
  console.log(`${name.padEnd(14)}${String(files).padStart(5)} files${String(lines).padStart(8)} lines`);
const total = (of: 'files' | 'lines') => all.reduce((sum, one) => sum + one[of], 0);
console.log(
  `${'all'.padEnd(14)}${String(total('files')).padStart(5)} files${String(total('lines')).padStart(8)} lines`,
);
