/** A host that makes calls, takes up those of its earlier lives, and may be killed at any moment. */
import { setTimeout as pause } from 'node:timers/promises';
import { type CallRegistry, connectTasks, sqliteCallRegistry, type TaskHandle } from 'holdfast/client';
import { seededRandom } from '../../kit/random.ts';
import { sdkClient } from '../../kit/sdk.ts';
import { type Line, readLines, write } from './lines.ts';

export interface HostOptions {
  readonly url: string;
  readonly registry: string;
  readonly log: string;
  readonly seed: number;
  readonly life: number;
  readonly isModern: boolean;
  readonly drafts: boolean;
  /** How many calls it makes besides those that it takes up. */
  readonly calls: number;
}

export const tools = [
  { name: 'nap', input: { ms: 200 }, says: 'woke' },
  { name: 'slow_compute', input: { seconds: 0.3 }, says: 'done' },
  { name: 'ask_name', input: {}, says: 'Hello, Kelp!' },
  { name: 'fan_out', input: { children: 2, depth: 1, delayMs: 20, ask: true }, says: 'parent 1 2' },
] as const;

/** Says what becomes durable, as soon as it is. */
function telling(handles: CallRegistry, say: (line: Line) => void): CallRegistry {
  const saved = handles.save.bind(handles);
  const save: CallRegistry['save'] = (record) => {
    const before = handles.get(record.id);
    const added = Object.keys(record.answers).filter((at) => !Object.hasOwn(before?.answers ?? {}, at));
    for (const question of added) say({ type: 'recording', question });
    saved(record);
    for (const question of added) say({ type: 'recorded', question });
  };
  return Object.assign(handles, { save });
}

async function main(options: HostOptions): Promise<void> {
  const { url, registry, log, life, isModern, drafts } = options;
  const random = seededRandom(options.seed);
  const say = (line: Line) => write(log, { life, ...line });
  const handles = telling(sqliteCallRegistry(registry), say);
  const client = sdkClient(isModern ? 'auto' : 'legacy');
  const tasks = await connectTasks(client, url, {
    registry: handles,
    pace: { floorMs: 20, ceilingMs: 1_000 },
    ...(drafts && { drafts: 'all' }),
    answer: async ({ taskId, key, ...question }) => {
      say({ type: 'asked', question: `${taskId} ${key}` });
      await pause(random.between(0, 40));
      const { properties } = (question as unknown as { schema: { properties: object } }).schema;
      return { action: 'accept', content: 'name' in properties ? { name: 'Kelp' } : { confirm: true } };
    },
  });
  process.stdout.write('ready\n');
  const waiting: Promise<void>[] = [];
  const wait = (handle: TaskHandle) => {
    const delivered = handle.result().then(
      ({ content }) => {
        const text = (content as { text: string }[])[0]!.text;
        say({ type: 'delivered', handle: handle.id, text });
      },
      (error: Error) => say({ type: 'failed', handle: handle.id, why: `${error.name}: ${error.message}` }),
    );
    waiting.push(delivered);
  };
  for (const handle of await tasks.resumeAll()) wait(handle);
  const begun = Array.from({ length: options.calls }, async () => {
    await pause(random.between(0, 100));
    const { name, input } = random.oneOf(tools);
    const handle = await tasks.call(name, input);
    say({ type: 'called', handle: handle.id });
    wait(handle);
  });
  await Promise.all(begun);
  await Promise.all(waiting);
  // A life may have ended between the mark in the registry and the line in the log.
  const written = new Set(readLines(log).flatMap((line) => (line.type === 'delivered' ? [line.handle] : [])));
  for (const { id } of handles.list()) if (!written.has(id)) wait(await tasks.resume(id));
  await Promise.all(waiting);
  await tasks.close();
}

if (import.meta.main) await main(JSON.parse(process.argv[2]!));
