/** Every case, by the client that it is about. */
import type { InteropCase } from './case.ts';
import { extTasks } from './ext-tasks.ts';
import { inspector } from './inspector.ts';
import { plain } from './plain.ts';
import { resuming } from './resuming.ts';

export const cases: readonly InteropCase[] = [...extTasks, ...resuming, ...inspector, ...plain];
