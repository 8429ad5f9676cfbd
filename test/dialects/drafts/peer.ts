/** Clients of 2025-11-25 that flag drafts, and a server that has drafts on. */

import { createTasks, type DurableTool, type TasksOptions } from 'holdfast';
import { fixtureFactory, storeFrom, withoutLimits } from '../../fixture/server.ts';
import { tokensOf } from '../../fixture/tokens.ts';
import { fixturePrompts, fixtureResources, fixtureTools } from '../../fixture/tools.ts';
import { serve } from '../../kit/serve.ts';
import { Peer } from '../revision-2025-11-25/peer.ts';

export type Draft = Exclude<NonNullable<TasksOptions['drafts']>, string>[number];

/** What a client says of itself that can be asked anything and knows these drafts. */
export function flagging(...drafts: readonly string[]): object {
  const experimental = Object.fromEntries(drafts.map((draft) => [draft, {}]));
  return { elicitation: {}, sampling: {}, roots: {}, ...(drafts.length > 0 && { experimental }) };
}

/** A client that flags these drafts, in an open session. */
export async function opened(url: string, drafts: readonly string[], token?: string): Promise<Peer> {
  const peer = new Peer(url, { capabilities: flagging(...drafts), ...(token !== undefined && { token }) });
  await peer.open();
  return peer;
}

export interface ServingOptions extends Omit<Partial<TasksOptions>, 'tools'> {
  /** Besides those of the fixture. */
  readonly more?: readonly DurableTool[];
  /** Owners by their tokens. */
  readonly tokens?: Record<string, string>;
}

/** What the fixture server has, and more, until the end of the test. */
export async function serving({ more = [], tokens, ...options }: ServingOptions) {
  const tasks = createTasks({
    store: storeFrom('memory:'),
    limits: withoutLimits,
    shortestRetention: '1s',
    ...(tokens && { owner: (credentials) => `owner:${credentials?.clientId}` }),
    tools: [...fixtureTools, ...more],
    resources: fixtureResources,
    prompts: fixturePrompts,
    ...options,
  });
  await tasks.work({ concurrency: 32, grace: '100ms' });
  const auth = tokens && { auth: tokensOf(new Map(Object.entries(tokens))) };
  const { url } = await serve(tasks, auth, fixtureFactory(tasks));
  /** Opens a session of a client that flags these drafts. */
  const open = (drafts: readonly string[] = [], token?: string) => opened(url, drafts, token);
  return { tasks, url, open };
}
