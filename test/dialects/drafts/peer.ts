/** Clients of 2025-11-25 that flag drafts, and a server that has drafts on. */

import type { TasksOptions } from 'holdfast';
import { fixturePrompts, fixtureResources } from '../../fixture/tools.ts';
import { type ServeFixtureOptions, serveFixture } from '../../kit/serve.ts';
import { Peer } from '../revision-2025-11-25/peer.ts';

export type Draft = Exclude<NonNullable<TasksOptions['drafts']>, string>[number];

/** What a client says of itself that can be asked anything and knows these drafts. */
export function flagging(...drafts: readonly string[]): object {
  const experimental = Object.fromEntries(drafts.map((draft) => [draft, {}]));
  return { elicitation: {}, sampling: {}, roots: {}, ...(drafts.length > 0 && { experimental }) };
}

export async function opened(url: string, drafts: readonly string[], token?: string): Promise<Peer> {
  const peer = new Peer(url, { capabilities: flagging(...drafts), ...(token !== undefined && { token }) });
  await peer.open();
  return peer;
}

/** What the fixture server has, and more, until the end of the test. */
export async function serving(options: ServeFixtureOptions) {
  const always = { minRetention: '1s', resources: fixtureResources, prompts: fixturePrompts } as const;
  const { tasks, url } = await serveFixture({ ...always, ...options });
  const open = (drafts: readonly string[] = [], token?: string) => opened(url, drafts, token);
  return { tasks, url, open };
}
