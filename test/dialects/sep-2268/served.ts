/** A server with the drafts on, and its clients: those that know subtasks and those that do not, of both revisions. */
import { openSqlite } from 'holdfast/sqlite';
import { pagesOf } from '../../kit/listed.ts';
import { type ServeFixtureOptions, serveFixture } from '../../kit/serve.ts';
import { extension, subtasks } from '../../kit/wire.ts';
import { RawClient } from '../../serving/raw-client.ts';
import { opened } from '../drafts/peer.ts';
import type { Message, Peer } from '../revision-2025-11-25/peer.ts';
import { grownTools, type Plan } from './grown-tools.ts';

export type Served = Awaited<ReturnType<typeof served>>;

/** Tokens are owners. */
type ServedOptions = Omit<ServeFixtureOptions, 'tokens'> & { readonly tokens?: readonly string[] };

export async function served({ tokens = ['alice', 'bob'], ...more }: ServedOptions = {}) {
  const { clock } = more;
  const { tasks, url, stop } = await serveFixture({
    store: () => openSqlite('memory:', clock ? { clock } : {}),
    more: grownTools,
    drafts: ['sep-2268'],
    minRetention: '300ms',
    concurrency: 64,
    tokens: Object.fromEntries(tokens.map((token) => [token, token])),
    ...more,
  });
  const [first = ''] = tokens;
  const raw =
    (extensions: object) =>
    (token = first) =>
      new RawClient(url, { tasks: false, capabilities: { elicitation: {}, extensions }, token });
  return {
    tasks,
    url,
    /** Sessions of 2025-11-25 that flag subtasks, and those that do not. */
    aware: (token = first) => opened(url, ['sep-2268'], token),
    unaware: (token = first) => opened(url, [], token),
    /** Clients of 2026-07-28 that list the extension for subtasks, and those that do not. */
    later: raw({ [extension]: {}, [subtasks]: {} }),
    laterUnaware: raw({ [extension]: {} }),
    stop,
  };
}

export function grow(peer: Peer, plan: Plan, task: object = {}): Promise<string> {
  return peer.start(plan.tool ?? 'grow', { plan }, task);
}

export function isDone({ status }: { readonly status?: unknown }): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

/** Looks until it is so; what it looks at moves by itself. */
export async function look(peer: Peer, taskId: string, isIt: (task: Message) => boolean): Promise<Message> {
  for (;;) {
    const { result, error } = await peer.get(taskId);
    if (error) throw new Error(`tasks/get: ${error.message}`);
    if (isIt(result)) return result;
  }
}

/** The ids of its first children, as soon as there are so many. */
export async function children(peer: Peer, taskId: string, count = 1): Promise<string[]> {
  const { childTaskIds } = await look(peer, taskId, (task) => (task.childTaskIds?.length ?? 0) >= count);
  return childTaskIds;
}

export async function* pages(peer: Peer): AsyncGenerator<Message[]> {
  const read = async (from: object): Promise<Message> => (await peer.request('tasks/list', from)).result;
  for await (const { tasks } of pagesOf(read)) yield tasks;
}

export async function listed(peer: Peer): Promise<Message[]> {
  return (await Array.fromAsync(pages(peer))).flat();
}
