/** `examples/tokens` as its reader would try it. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { Place } from '../serving/place.ts';
import { RawClient } from '../serving/raw-client.ts';
import { audience, Issuer } from './issuer.ts';

const example = join(import.meta.dirname, '../../examples/tokens/tokens.ts');

/** What it prints until it is ready, by the first word of each line. */
async function start(...args: readonly string[]): Promise<Map<string, string>> {
  const options = ['--conditions=holdfast-source', '--disable-warning=ExperimentalWarning', example];
  const place = new Place();
  const child = spawn(process.execPath, [...options, '--db', place.database, '--port', '0', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const gone = new Promise((resolve) => child.on('close', resolve));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await gone;
  });
  const said = new Map<string, string>();
  for await (const line of createInterface({ input: child.stdout })) {
    const [word = '', rest = ''] = line.split(' ');
    said.set(word, rest);
    if (word === 'ready') break;
  }
  return said;
}

test('without an issuer it makes a token, and takes no other', async () => {
  const said = await start();
  const url = said.get('ready')!;
  const client = new RawClient(url, { token: said.get('token')! });
  const { taskId } = (await client.call('patience')).result;
  expect((await client.until(taskId, 'completed')).result).toMatchObject({
    content: [{ text: 'It was worth it.' }],
  });
  expect(await new RawClient(url, { token: 'x'.repeat(43) }).get(taskId)).toMatchObject({ status: 401 });
});

test('with an issuer it takes tokens that are signed for it', async () => {
  const issuer = await Issuer.start();
  const url = (await start('--issuer', issuer.url)).get('ready')!;
  const token = await issuer.sign({ scope: 'reports' });
  const { taskId } = (await new RawClient(url, { token }).call('patience')).result;
  expect(taskId).toBeTypeOf('string');
  expect(await new RawClient(url, { token: await issuer.sign() }).get(taskId)).toMatchObject({ status: 403 });
  const metadata = await fetch(new URL('/.well-known/oauth-protected-resource/mcp', url));
  expect(await metadata.json()).toMatchObject({ resource: audience, authorization_servers: [issuer.url] });
});
