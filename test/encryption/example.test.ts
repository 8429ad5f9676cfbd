/** The example that the guide quotes runs, and a wrong key stops it with a message that helps. */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { temporaryFile } from '../kit/lifetime.ts';
import { keyOf } from './keys.ts';

const example = join(import.meta.dirname, '../../examples/encrypted/encrypted.ts');

test('the example keeps what it is told to itself, and refuses another key', async () => {
  const file = temporaryFile();
  const run = (key: string) =>
    promisify(execFile)(process.execPath, ['--conditions=holdfast-source', example, '--db', file], {
      env: { ...process.env, TASKS_KEY_2026_11: key },
    });
  const key = Buffer.from(keyOf('example')).toString('base64');
  expect((await run(key)).stdout).toContain('Ada has a cold: tea and rest.');
  const bytes = readdirSync(dirname(file), { recursive: true, encoding: 'utf8' })
    .filter((name) => !name.endsWith('-instances'))
    .map((name) => readFileSync(join(dirname(file), name)));
  expect(bytes.length).toBeGreaterThan(0);
  expect(bytes.some((content) => content.includes('Ada') || content.includes('tea and rest'))).toBe(false);
  const wrong = Buffer.from(keyOf('another')).toString('base64');
  await expect(run(wrong)).rejects.toThrow('key 2026-11 is wrong');
});
