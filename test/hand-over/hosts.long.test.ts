/** In real time and with the usual settings: five minutes of work, and clients that give up after one. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../kit/lifetime.ts';
import { hosts } from './hosts.ts';
import { chaptersIn } from './ledgers.ts';
import { followed } from './script.ts';
import { startServer } from './server-process.ts';

const folder = temporaryFolder();

test.concurrent.each(Object.entries(hosts))(
  '%s gives up after 60 s, and gets the result of a tool that takes 5 minutes',
  async (name, connect) => {
    const settings = { file: join(folder, `${name}.db`) };
    await using server = await startServer(settings);
    await using host = await connect(server.url, 60_000);
    const file = join(folder, name);
    const input = { file, steps: 300, delayMs: 1_000 };
    const { called, result } = await followed(host.call, 'chapters', input);
    expect(result.structuredContent).toEqual({ steps: 300, signedBy: 'nobody' });
    expect(chaptersIn(file)).toEqual(Array.from({ length: 300 }, (_, n) => n + 1));
    expect(called.filter((tool) => tool === 'chapters')).toHaveLength(1);
    expect(called.length).toBeGreaterThan(5);
  },
);
