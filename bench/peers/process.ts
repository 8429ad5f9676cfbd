/**
 * `process.ts ADAPTER SETTING`: one system in its own process, which runs the measurements that its parent requests.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { monotonicMs, randomGapMs } from '../measure.ts';
import type { Adapter, Peer, Setting, Workflow } from './adapter.ts';

/** What the parent asks for. */
export type Question =
  | { readonly run: 'all'; readonly workflow: Workflow; readonly count: number }
  | { readonly run: 'one by one'; readonly samples: number; readonly seconds: number };

export interface Sample {
  readonly n: number;
  readonly calledMs: number;
  readonly seenMs: number;
}

export type Message =
  | { readonly kind: 'ready' }
  | { readonly kind: 'began'; readonly n: number; readonly atMs: number }
  | { readonly kind: 'all'; readonly seconds: number }
  | { readonly kind: 'one by one'; readonly samples: readonly Sample[] };

const send = (message: Message) => process.send!(message);

let returned = 0;
let allReturned: (() => void) | undefined;
let awaited = 0;

async function runAll(peer: Peer, workflow: Workflow, count: number): Promise<number> {
  const { finished } = peer;
  const before = (await finished?.()) ?? 0;
  const handlers = Promise.withResolvers<void>();
  [returned, awaited, allReturned] = [0, count, handlers.resolve];
  const startedMs = monotonicMs();
  let next = 0;
  const lane = async () => {
    while (next < count) {
      const wait = await peer.start(workflow, next++);
      if (!finished) await wait();
    }
  };
  await Promise.all(Array.from({ length: Math.min(count, peer.inFlight ?? count) }, lane));
  if (finished) {
    await handlers.promise;
    while ((await finished()) - before < count) await pause(5);
  }
  return (monotonicMs() - startedMs) / 1_000;
}

/** One at a time at random intervals, until there are enough samples or the time is over. The first is a warm-up. */
async function runOneByOne(peer: Peer, samples: number, seconds: number): Promise<Sample[]> {
  const taken: Sample[] = [];
  await (await peer.start('nothing', ++started))();
  const endMs = monotonicMs() + seconds * 1_000;
  while (taken.length < samples && monotonicMs() < endMs) {
    await pause(randomGapMs());
    const calledMs = monotonicMs();
    const n = ++started;
    await (await peer.start('nothing', n))();
    taken.push({ n, calledMs, seenMs: monotonicMs() });
  }
  return taken;
}

let started = 0;

const [, , adapter, settingText] = process.argv;
const { open }: Adapter = await import(`./${adapter}.ts`);
const setting: Omit<Setting, 'began' | 'returned'> = JSON.parse(settingText!);
const isAlone = setting.isWorker && setting.isStarter;
const peer = await open({
  ...setting,
  began(n) {
    if (!isAlone) send({ kind: 'began', n, atMs: monotonicMs() });
  },
  returned() {
    if (++returned === awaited) allReturned?.();
  },
});
process.on('message', async (question: Question) => {
  if (question.run === 'all')
    send({ kind: 'all', seconds: await runAll(peer, question.workflow, question.count) });
  else
    send({
      kind: 'one by one',
      samples: await runOneByOne(peer, question.samples, question.seconds),
    });
});
process.once('disconnect', async () => {
  await peer.close();
  process.exit();
});
send({ kind: 'ready' });
