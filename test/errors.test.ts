import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { errorFrom, ProtocolError, recordError, TerminalError } from '../src/engine/replay/recorded-error.ts';
import { errorCodes, InvalidOptions, InvalidValue, refusal } from '../src/model/errors.ts';
import { TaskCorrupt } from '../src/ports/store-errors.ts';

const root = join(import.meta.dirname, '..');
const codes: string[] = Object.values(errorCodes).flat();

test('docs/errors.md explains each code once, and no other', () => {
  const page = readFileSync(join(root, 'docs/errors.md'), 'utf8');
  const explained = [...page.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, code]) => code);
  expect(explained.toSorted()).toEqual(codes.toSorted());
});

test('each code is the code of some error', () => {
  const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter(
      (file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && file !== join('model', 'errors.ts'),
    )
    .map((file) => readFileSync(join(root, 'src', file), 'utf8'))
    .join('\n');
  expect(codes.filter((code) => !sources.includes(`'${code}'`))).toEqual([]);
});

test.each([
  new TerminalError('Stop.'),
  new ProtocolError(-32_000, 'No.', { why: 'because' }),
  new InvalidOptions('INVALID_CALL', 'task.sleep() needs a duration.'),
  new InvalidValue('NOT_JSON', 'a bigint'),
  refusal('TASK_NOT_FOUND', 'abc'),
])('a journal gives back an equal error, with its class and its code: $code', (error) => {
  const restored = errorFrom(recordError(error));
  expect(restored).toStrictEqual(error);
  expect(restored).toBeInstanceOf(error.constructor);
});

test('an error of another class of Holdfast keeps its name and its code in a journal', () => {
  const restored = errorFrom(recordError(new TaskCorrupt('memory:', 'abc', 'no phase')));
  expect(restored).toMatchObject({ name: 'TaskCorrupt', code: 'TASK_CORRUPT' });
});
