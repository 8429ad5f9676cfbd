/** Every case, by the client that it is about. */
import { mcpc } from './2025-11-25/mcpc.ts';
import { sdk } from './2025-11-25/sdk.ts';
import { sdkResuming } from './2025-11-25/sdk-resuming.ts';
import { aiSdk } from './ai-sdk.ts';
import { bothRevisions } from './both-revisions.ts';
import type { InteropCase } from './case.ts';
import { extTasks } from './ext-tasks.ts';
import { inspector } from './inspector.ts';
import { ourClient } from './our-client-cases.ts';
import { plain } from './plain.ts';

export { gateway } from './gateway/cases.ts';

/** All but those of the gateway. */
export const direct: readonly InteropCase[] = [
  ...sdkResuming,
  ...extTasks,
  ...sdk,
  ...mcpc,
  ...plain,
  ...inspector,
  ...bothRevisions,
  ...aiSdk,
  ...ourClient,
];
