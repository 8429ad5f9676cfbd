import { expect, test } from 'vitest';
import { blockOf, renderedValue } from '../../dashboard/src/content/blocks.ts';
import { canShow, savedAs, shownAs, sizeOf } from '../../dashboard/src/content/media.ts';

test('the form of a text is detected: plain, Markdown or JSON', () => {
  const formOf = (text: string) => blockOf({ type: 'text', text });
  expect(formOf('Done.')).toMatchObject({ form: 'plain' });
  expect(formOf('# Done')).toMatchObject({ form: 'markdown' });
  expect(formOf('{"done":true}')).toMatchObject({ form: 'json' });
  expect(formOf('{not json')).toMatchObject({ form: 'plain' });
});

test('the MIME type of a resource decides the form of its text', () => {
  const inside = (mimeType: string, text: string) =>
    blockOf({ type: 'resource', resource: { uri: 'file:///a', mimeType, text } });
  expect(inside('text/markdown', 'no marks')).toMatchObject({ inside: { form: 'markdown' } });
  expect(inside('text/html', '<h1>hi</h1>')).toMatchObject({ inside: { type: 'text', form: 'plain' } });
  expect(inside('application/json', '[1]')).toMatchObject({ inside: { form: 'json' } });
});

test('results of resources and prompts are split into blocks', () => {
  expect(
    renderedValue({ contents: [{ uri: 'file:///a.png', mimeType: 'image/png', blob: 'AAAA' }] }),
  ).toEqual({
    blocks: [
      {
        type: 'resource',
        uri: 'file:///a.png',
        mimeType: 'image/png',
        inside: { type: 'image', mimeType: 'image/png', data: 'AAAA' },
      },
    ],
  });
  expect(
    renderedValue({ messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }] }),
  ).toMatchObject({
    blocks: [{ type: 'message', role: 'user', blocks: [{ type: 'text', text: 'hi' }] }],
  });
});

test('structured content is not shown twice', () => {
  const value = { content: [{ type: 'text', text: '{"a": 1}' }], structuredContent: { a: 1 } };
  expect(renderedValue(value)).toEqual({ blocks: [], structured: { a: 1 } });
});

test('a value of an unknown type is shown as data', () => {
  expect(renderedValue({ a: [1, 2] })).toEqual({ blocks: [{ type: 'data', value: { a: [1, 2] } }] });
  expect(blockOf({ type: 'hologram', data: 1 })).toMatchObject({ type: 'data' });
  expect(blockOf({ type: 'image', data: 7 })).toMatchObject({ type: 'data' });
});

test('a redacted value is not shown as text', () => {
  expect(renderedValue('[redacted]')).toEqual({ blocks: [{ type: 'hidden' }] });
  expect(blockOf({ type: 'text', text: '[redacted]' })).toEqual({ type: 'hidden' });
});

test('only images and sounds of known types in base64 are shown', () => {
  expect(canShow('image', 'image/PNG; charset=x')).toBe(true);
  expect(canShow('image', 'text/html')).toBe(false);
  expect(shownAs('image', 'image/png', 'iVBO Rw0K')).toBe('data:image/png;base64,iVBORw0K');
  expect(shownAs('image', 'image/svg+xml', 'PHN2Zz4=')).toMatch(/^data:image\/svg\+xml;base64,/);
  expect(shownAs('image', 'text/html', 'AAAA')).toBeUndefined();
  expect(shownAs('audio', 'audio/wav', '"><script>')).toBeUndefined();
});

test('a file is saved with a type that no browser opens', async () => {
  const blob = savedAs('aGVsbG8=')!;
  expect(blob.type).toBe('application/octet-stream');
  expect(await blob.text()).toBe('hello');
  expect(sizeOf('aGVsbG8=')).toBe(5);
});
