import { expect, test } from 'vitest';
import { CannotBeAsked, ProtocolError } from '../replay/recorded-error.ts';
import { durableResource, matchUri, type ResourceOptions } from './resource.ts';

const daily = 'report://daily';
const asked = { input: { uri: daily, variables: {} }, maxSize: 1_000 };

function resource(options: Partial<ResourceOptions> = {}) {
  return durableResource('daily', { uri: daily, ...options }, async () => '');
}

async function shaped(returned: unknown, options: Partial<ResourceOptions> = {}) {
  const outcome = await resource(options).outcome(returned, asked);
  return outcome.kind === 'result' ? outcome.value : outcome;
}

test('a text becomes the contents of the URI that was read, of the type that was declared', async () => {
  expect(await shaped('Calm.')).toEqual({ contents: [{ uri: daily, text: 'Calm.' }] });
  expect(await shaped('# Calm', { mimeType: 'text/markdown' })).toEqual({
    contents: [{ uri: daily, mimeType: 'text/markdown', text: '# Calm' }],
  });
});

test('contents, alone or in a complete result, are returned unchanged', async () => {
  const contents = [
    { uri: 'report://a', text: 'A' },
    { uri: 'report://b', mimeType: 'image/png', blob: 'AAAA' },
  ];
  expect(await shaped(contents)).toEqual({ contents });
  expect(await shaped({ contents, _meta: { n: 1 } })).toEqual({ contents, _meta: { n: 1 } });
  expect(await shaped([])).toEqual({ contents: [] });
});

test('any other object or array is shown as JSON', async () => {
  expect(await shaped({ wind: 3 })).toEqual({
    contents: [{ uri: daily, mimeType: 'application/json', text: '{"wind":3}' }],
  });
  expect(await shaped([{ wind: 3 }], { mimeType: 'application/geo+json' })).toEqual({
    contents: [{ uri: daily, mimeType: 'application/geo+json', text: '[{"wind":3}]' }],
  });
});

test.each([undefined, null, 7, true])('%s is not a resource', async (returned) => {
  await expect(shaped(returned)).rejects.toThrow('which is not a resource');
});

test('contents without a URI, or with neither text nor blob, are refused', async () => {
  await expect(shaped({ contents: [{ text: 'from where?' }] })).rejects.toThrow('without a "uri"');
  await expect(shaped({ contents: [{ uri: daily }] })).rejects.toThrow('neither a "text" nor a "blob"');
});

test('a value that JSON cannot represent, or that is too large, is refused before it becomes a text', async () => {
  await expect(shaped({ tides: new Map() })).rejects.toThrow('"tides" that JSON cannot represent');
  await expect(shaped('x'.repeat(2_000))).rejects.toThrow('the limit is 1000');
});

test('every thrown value is a failure, never an error result, and a protocol error keeps its code', () => {
  const { failure } = resource();
  expect(failure(new Error('No wind.'))).toEqual({ kind: 'failure', message: 'No wind.' });
  expect(failure(new ProtocolError(-32002, 'Gone.', { uri: daily }))).toEqual({
    kind: 'failure',
    code: -32002,
    message: 'Gone.',
    data: { uri: daily },
  });
  expect(failure(new CannotBeAsked('name', 'form'))).toMatchObject({ kind: 'failure', unaskable: 'form' });
});

test('a URI is matched, and its variables are extracted', () => {
  const files = resource({ uri: 'report://{day}/{+path}' });
  const uri = 'report://monday/a/b';
  expect(matchUri(files, uri)).toEqual({ uri, variables: { day: 'monday', path: 'a/b' } });
  expect(matchUri(files, daily)).toBeUndefined();
  expect([files.isTemplate, resource().isTemplate]).toEqual([true, false]);
});

test('a resource name follows the rules of tool names, and its key differs from every tool name', () => {
  expect(resource()).toMatchObject({ name: 'resource/daily', listedAs: 'daily', method: 'resources/read' });
  const named = () => durableResource('the daily', { uri: daily }, async () => '');
  expect(named).toThrow(expect.objectContaining({ code: 'INVALID_TOOL' }));
  expect(named).toThrow('"the daily" is not a valid name for a resource');
});
