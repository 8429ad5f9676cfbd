import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../kit/lifetime.ts';
import { connectSdk } from '../kit/sdk.ts';
import { expectWithin } from '../kit/within.ts';
import { canMount, smallDisk } from '../techniques/faults/disk.ts';
import { Other } from '../techniques/faults/other.ts';
import { gatewayProcess } from './processes.ts';

/** Callers get an error after four seconds. The test machine may be busy. */
const atMostMs = 6_000;

async function connected(url: URL): Promise<Client> {
  const client = await connectSdk(url);
  onTestFinished(() => client.close());
  return client;
}

async function refusal(act: Promise<unknown>): Promise<{ readonly message: string; readonly ms: number }> {
  const started = performance.now();
  const message = await act.then(
    () => 'It was answered.',
    (error: Error) => error.message,
  );
  return { message, ms: performance.now() - started };
}

test('a client of a gateway whose file is locked gets an error within seconds, and the terminal shows it', async () => {
  const folder = temporaryFolder();
  const commands = { wait: { command: 'sleep 1; echo done', shell: true } };
  await using gateway = await gatewayProcess({ commands }, folder).start();
  const client = await connected(gateway.url);
  const other = new Other(join(folder, 'tasks.db'));
  await other.do('lock', 'immediate', 60_000);
  const { message, ms } = await refusal(client.callTool({ name: 'wait', arguments: {} }));
  // The error comes before the store's own timeout of half a minute.
  expect(message).toContain('The task store is not available (not reachable)');
  expectWithin(atMostMs, ms);
  await expect.poll(() => gateway.complaints).toContain('it has not answered for 3 s');
  await other.kill();
  await expect.poll(() => gateway.complaints).toContain('The task store works again');
});

test.skipIf(!canMount)(
  'a client of a gateway whose disk fills up during its call gets an error within seconds',
  async () => {
    const { folder } = smallDisk();
    const commands = {
      fill: {
        command: 'head -c 10000000 /dev/zero > "$1" 2> /dev/null; yes | head -c 200000',
        shell: true,
        args: [join(folder, 'ballast')],
      },
    };
    await using gateway = await gatewayProcess({ commands }, folder).start();
    const client = await connected(gateway.url);
    const { message, ms } = await refusal(client.callTool({ name: 'fill', arguments: {} }));
    expect(message).toContain('The task store is not available (disk full)');
    expect(message).not.toContain(folder);
    expectWithin(atMostMs, ms);
    await expect.poll(() => gateway.complaints).toContain('the disk is full');
  },
);
