/**
 * A tool that takes five times as long as its caller waits, and the clients that exist, with times a tenth. The window
 * is shorter than that, so that a busy machine has five seconds for an answer.
 */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../kit/lifetime.ts';
import { hosts } from './hosts.ts';
import { chaptersIn } from './ledgers.ts';
import { followed } from './script.ts';
import { startServer } from './server-process.ts';

const folder = temporaryFolder();

test.concurrent.each(Object.entries(hosts))(
  '%s gives up after 6 s, and gets the result of a tool that takes 30 s, with a question on the way',
  async (name, connect) => {
    const settings = { file: join(folder, `${name}.db`), handOver: 1_000 };
    await using server = await startServer(settings);
    await using host = await connect(server.url, 6_000);
    const file = join(folder, name);
    const input = { file, steps: 30, delayMs: 1_000, asks: true };
    const { called, result } = await followed(host.call, 'chapters', input);
    expect(result.structuredContent).toEqual({ steps: 30, signedBy: 'Ada' });
    expect(chaptersIn(file)).toEqual(Array.from({ length: 30 }, (_, n) => n + 1));
    expect(called).toEqual(expect.arrayContaining(['chapters', 'task_wait', 'task_answer']));
  },
);
