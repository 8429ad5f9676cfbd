/** Every case, by the client that it is about. */
import { olderExtTasks } from './2025-11-25/ext-tasks.ts';
import { mcpc } from './2025-11-25/mcpc.ts';
import { sdk } from './2025-11-25/sdk.ts';
import { sdkResuming } from './2025-11-25/sdk-resuming.ts';
import { aiSdk } from './ai-sdk.ts';
import { bothRevisions } from './both-revisions.ts';
import type { InteropCase } from './case.ts';
import { extTasks } from './ext-tasks.ts';
import { gateway } from './gateway/cases.ts';
import { inspector } from './inspector.ts';
import { ourClient } from './our-client-cases.ts';
import { plain } from './plain.ts';
import { resuming } from './resuming.ts';

/** One of each client in turn: those that consist of many processes do not run all at once. */
export const cases: readonly InteropCase[] = inTurns(
  resuming,
  extTasks,
  sdk,
  mcpc,
  plain,
  sdkResuming,
  olderExtTasks,
  inspector,
  bothRevisions,
  aiSdk,
  ourClient,
  gateway,
);

function inTurns<T>(...lists: readonly (readonly T[])[]): T[] {
  const turns = Math.max(...lists.map(({ length }) => length));
  return Array.from({ length: turns }, (_, turn) =>
    lists.flatMap((list) => list.slice(turn, turn + 1)),
  ).flat();
}
