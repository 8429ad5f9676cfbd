/**
 * The transcripts of `docs/dialects.md`, recorded anew from a real server and compared. When a change of the wire is
 * meant, `UPDATE=1 npx vitest run test/dialects/drafts/transcripts.test.ts` writes them, and the page.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { newsroom } from './newsroom.ts';
import { Recorder, type Said } from './recorder.ts';
import { filled, folded, namesIn } from './render.ts';
import { approve, draftsOf, scenarios } from './scenarios.ts';

const folder = join(import.meta.dirname, 'transcripts');
const page = join(import.meta.dirname, '../../../docs/dialects.md');
const isUpdating = process.env.UPDATE === '1';

function fileOf(name: string): string {
  return join(folder, `${name}.json`);
}

function stored(name: string): Said[] {
  return JSON.parse(readFileSync(fileOf(name), 'utf8')) as Said[];
}

test.each(Object.keys(scenarios))('what is said in %s is what its transcript says', async (name) => {
  const room = await newsroom(draftsOf(name));
  const client = new Recorder(room.url, approve);
  await scenarios[name]!(client, room);
  const transcript = client.transcript();
  if (isUpdating) writeFileSync(fileOf(name), `${JSON.stringify(transcript, undefined, 2)}\n`);
  expect(transcript).toEqual(stored(name));
});

test('there is a transcript for each conversation, and the page shows them all', () => {
  const names = Object.keys(scenarios).sort();
  expect(
    readdirSync(folder)
      .map((file) => file.replace(/\.json$/, ''))
      .sort(),
  ).toEqual(names);
  expect(namesIn(readFileSync(page, 'utf8')).sort()).toEqual(names);
});

test('the page shows the transcripts as they are', () => {
  const text = readFileSync(page, 'utf8');
  const renewed = filled(text, stored);
  if (isUpdating) writeFileSync(page, renewed);
  else expect(text).toBe(renewed);
});

test('a message is shown on as few lines as fit', () => {
  expect(folded({ a: 1, b: [] })).toBe('{ "a": 1, "b": [] }');
  const long = { text: 'x'.repeat(100), list: [{ a: 1 }] };
  expect(folded(long)).toBe(`{\n  "text": "${'x'.repeat(100)}",\n  "list": [{ "a": 1 }]\n}`);
});
