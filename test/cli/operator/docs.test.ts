import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../terminal.ts';

test('every screen of docs/terminal.md is one that was seen', () => {
  const page = readFileSync(join(root, 'docs/terminal.md'), 'utf8');
  const screens = [...page.matchAll(/<!-- from (\S+) -->\n```\n([\s\S]*?)\n```/g)];
  expect(screens.length).toBeGreaterThan(0);
  for (const [, file, screen] of screens) expect(readFileSync(join(root, file!), 'utf8')).toContain(screen);
});
