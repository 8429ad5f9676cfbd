/** The examination that the `Secrets` of every database take. */
import assert from 'node:assert/strict';
import { checks, type SuiteOptions } from './suite.ts';

export function testSecrets(options: SuiteOptions): void {
  const { check, checkShared } = checks(options);

  check('a secret is made when it is first asked for, and stays', async ({ database: { secrets } }) => {
    const key = await secrets.get('states');
    assert.equal(key.byteLength, 32);
    assert.deepEqual(await secrets.get('states'), key);
    assert.notDeepEqual(key, new Uint8Array(32));
  });

  check('secrets with different names have nothing in common', async ({ database: { secrets } }) => {
    assert.notDeepEqual(await secrets.get('states'), await secrets.get('cursors'));
  });

  checkShared('processes that ask at the same time get the same secret', async ({ database, again }) => {
    const others = [await again(), await again()];
    const all = [database, ...others].map(({ secrets }) => secrets.get('states'));
    const [first, ...rest] = await Promise.all(all);
    for (const key of rest) assert.deepEqual(key, first);
  });

  checkShared('a secret outlives the processes that knew it', async ({ database, again }) => {
    const key = await database.secrets.get('states');
    await database.close();
    assert.deepEqual(await (await again()).secrets.get('states'), key);
  });
}
