/** A small sample project. Its tests run in a second, and one of them fails because of a bug. */
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CommandFailed } from '../usage.ts';

const files: Readonly<Record<string, string>> = {
  'package.json': `{ "name": "calendar", "private": true, "type": "module" }
`,
  'README.md': `# Calendar

A sample project for the tools of the Holdfast demo. It has three test files and one bug.
`,
  'calendar.js': `export function isLeapYear(year) {
  return year % 4 === 0;
}

export function daysIn(month, year) {
  if (month === 2) return isLeapYear(year) ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

export function dayOfYear(day, month, year) {
  let days = day;
  for (let before = 1; before < month; before++) days += daysIn(before, year);
  return days;
}
`,
  'leap-years.test.js': `import assert from 'node:assert';
import { test } from 'node:test';
import { isLeapYear } from './calendar.js';

test('every fourth year is a leap year', () => assert(isLeapYear(2028)));
test('other years are not', () => assert(!isLeapYear(2027)));
test('1900 was not a leap year', () => assert(!isLeapYear(1900)));
`,
  'months.test.js': `import assert from 'node:assert';
import { test } from 'node:test';
import { daysIn } from './calendar.js';

test('April has 30 days', () => assert.equal(daysIn(4, 2026), 30));
test('February has 29 days in a leap year', () => assert.equal(daysIn(2, 2028), 29));
`,
  'days.test.js': `import assert from 'node:assert';
import { test } from 'node:test';
import { dayOfYear } from './calendar.js';

test('the first of March is day 60', () => assert.equal(dayOfYear(1, 3, 2026), 60));
test('the last day of a year is day 365', () => assert.equal(dayOfYear(31, 12, 2026), 365));
`,
};

/** Writes the sample project. Existing files are not overwritten: the user may have fixed the bug. */
export async function writeSample(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    for (const [name, text] of Object.entries(files))
      if (!existsSync(join(folder, name))) await writeFile(join(folder, name), text);
  } catch (error) {
    throw new CommandFailed(
      `Could not write the sample project to ${folder} (${(error as Error).message}): choose another folder with --data.`,
    );
  }
}
