/** What the demo does of itself on an empty store, so that there is something to look at: real work of its own tools. */
import type { Tasks } from '../../server/tasks.ts';

/** One each: quick, step by step, with subtasks and a question at the end, one that fails, one that takes minutes. */
const calls: readonly (readonly [tool: string, input: object])[] = [
  ['count', { to: 5, everyMs: 100 }],
  ['run_tests', {}],
  ['report_on_folder', {}],
  ['run_tests', { folder: 'a-folder-that-is-not-here' }],
  ['count', { to: 600, everyMs: 1_000 }],
];

/** They are nobody's but the demo's own: callers neither see nor wait for them. */
const owner = 'demo';

/** Begins it, if nothing was ever done here. */
export async function beginFirstWork(tasks: Tasks): Promise<void> {
  const { survey } = await tasks.opened();
  const { count } = await survey.count({}, 1);
  if (count > 0) return;
  for (const [tool, input] of calls) await tasks.create(tool, input, { owner });
}
