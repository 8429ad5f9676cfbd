/** Every case, by the client that it is about. */
import { sdk } from './2025-11-25/sdk.ts';
import { bothRevisions } from './both-revisions.ts';
import type { InteropCases } from './case.ts';
import { commandLines } from './command-lines.ts';
import { extTasks } from './ext-tasks.ts';
import { ourClient } from './our-client-cases.ts';
import { plain } from './plain.ts';

export { gateway } from './gateway/cases.ts';

/** All but those of the gateway. */
export const direct: InteropCases = {
  ...sdk,
  ...extTasks,
  ...commandLines,
  ...plain,
  ...bothRevisions,
  ...ourClient,
};
