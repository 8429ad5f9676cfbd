import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const pages = [
  'README.md',
  ...readdirSync(join(root, 'docs'))
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
];

/** Each TypeScript snippet of a page, with the file that it is said to come from. */
function snippets(page: string): { from: string | undefined; code: string }[] {
  const text = readFileSync(join(root, page), 'utf8');
  return [...text.matchAll(/(?:<!-- from (\S+) -->\n)?```ts\n([\s\S]*?)```/g)].map(([, from, code]) => ({
    from,
    code: code!,
  }));
}

test.each(pages)('every TypeScript snippet of %s stands in a file that runs', (page) => {
  for (const { from, code } of snippets(page)) {
    expect(from, `a snippet without a source:\n${code}`).toBeDefined();
    expect(readFileSync(join(root, from!), 'utf8')).toContain(code);
  }
});

test.each(pages)('every link of %s to a file of the repository leads somewhere', (page) => {
  const text = readFileSync(join(root, page), 'utf8');
  const folder = join(root, page, '..');
  for (const [, target] of text.matchAll(/\]\((?!https?:|#)([^)#]+)[^)]*\)/g))
    expect(() => readFileSync(join(folder, target!)), `${page} links to ${target}`).not.toThrow();
});
