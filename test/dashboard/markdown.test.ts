import { expect, test } from 'vitest';
import { looksLikeMarkdown, markdownBlocks } from '../../dashboard/src/content/markdown.ts';

test('headings, emphasis, code and lists become nodes', () => {
  expect(markdownBlocks('# Tides\n\nHigh at **noon**, see `tide()`.\n\n1. first\n2. second')).toEqual([
    { type: 'heading', depth: 1, children: [{ type: 'text', text: 'Tides' }] },
    {
      type: 'paragraph',
      children: [
        { type: 'text', text: 'High at ' },
        { type: 'strong', children: [{ type: 'text', text: 'noon' }] },
        { type: 'text', text: ', see ' },
        { type: 'code', text: 'tide()' },
        { type: 'text', text: '.' },
      ],
    },
    {
      type: 'list',
      start: 1,
      items: [
        { blocks: [{ type: 'paragraph', children: [{ type: 'text', text: 'first' }] }] },
        { blocks: [{ type: 'paragraph', children: [{ type: 'text', text: 'second' }] }] },
      ],
    },
  ]);
});

test('tables, quotes, rules, checklists and fenced code become nodes', () => {
  const text = '| a | b |\n|---|---|\n| 1 | 2 |\n\n> said\n\n---\n\n- [x] done\n\n```ts\nlet a = "<b>";\n```';
  const blocks = markdownBlocks(text);
  expect(blocks.map(({ type }) => type)).toEqual(['table', 'quote', 'rule', 'list', 'code']);
  expect(blocks[3]).toMatchObject({ items: [{ checked: true }] });
  expect(blocks[4]).toEqual({ type: 'code', text: 'let a = "<b>";', language: 'ts' });
});

test.each([
  '<script>alert(1)</script>',
  'a <img src=x onerror=alert(1)> b',
  '<div onclick="alert(1)">\n\ntext\n\n</div>',
  '<svg><script>alert(1)</script></svg>',
  '<!-- a comment --><iframe src="https://elsewhere.example"></iframe>',
])('HTML stays the text that it is: %s', (text) => {
  const written = textsOf(markdownBlocks(text));
  expect(written.replace(/\s/g, '')).toBe(text.replace(/\s/g, ''));
});

test.each(['http://a.example/', 'https://a.example/x?y=1', 'mailto:ann@a.example'])(
  '%s can be followed',
  (href) => {
    expect(markdownBlocks(`[here](${href})`)).toMatchObject([{ children: [{ type: 'link', href }] }]);
  },
);

test.each([
  'javascript:alert(1)',
  'JaVaScRiPt:alert(1)',
  'java&#115;cript:alert(1)',
  '&#x6a;avascript:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  'vbscript:x',
  'file:///etc/passwd',
  'blob:https://a.example/x',
  '/operator/',
  '//elsewhere.example',
  '?view=task',
])('%s is shown and cannot be followed', (href) => {
  const blocks = markdownBlocks(`[here](<${href}>)`);
  expect(nodesOf(blocks).filter(({ type }) => type === 'link')).toEqual([]);
  expect(textsOf(blocks)).toContain('here');
});

test('an image becomes a link, so that showing a text sends no request to another host', () => {
  expect(markdownBlocks('![a boat](https://a.example/boat.png)')).toEqual([
    { type: 'paragraph', children: [{ type: 'image', href: 'https://a.example/boat.png', text: 'a boat' }] },
  ]);
});

test('character references are decoded, and cannot create tags', () => {
  expect(textsOf(markdownBlocks('&lt;b&gt; &amp; &#60;i&#62;'))).toBe('<b> & <i>');
});

test('excessive nesting ends as text', () => {
  const text = `${'> '.repeat(500)}deep`;
  expect(textsOf(markdownBlocks(text))).toContain('deep');
});

test('plain sentences are not detected as Markdown', () => {
  expect(looksLikeMarkdown('The tide is high at 12:04, low at 18:20.')).toBe(false);
  expect(looksLikeMarkdown('## Tides\nhigh')).toBe(true);
  expect(looksLikeMarkdown('See [here](https://a.example).')).toBe(true);
});

type Node = { type?: string; text?: string; [key: string]: unknown };

function nodesOf(value: unknown): Node[] {
  if (Array.isArray(value)) return value.flatMap(nodesOf);
  if (typeof value !== 'object' || value === null) return [];
  return [value as Node, ...Object.values(value).flatMap(nodesOf)];
}

function textsOf(value: unknown): string {
  return nodesOf(value)
    .map(({ text }) => text ?? '')
    .join('');
}
