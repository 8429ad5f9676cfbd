/**
 * A tool of five steps; as a program, a worker for it that says when it has come to the third step, and waits there to
 * be killed: `climb.ts PLACE`.
 */
import { createTasks, durableTool } from 'holdfast';
import { postgres } from 'holdfast/postgres';
import { sqlite } from 'holdfast/sqlite';

export function climb(third: () => unknown = () => 3) {
  return durableTool('climb', {}, async (_, task) => {
    for (let step = 1; step <= 5; step++)
      await task.step(`step ${step}`, () => (step === 3 ? third() : step));
    return 'At the top.';
  });
}

if (import.meta.main) {
  const [place] = process.argv.slice(2) as [string];
  const third = () => {
    console.log('at the third step');
    return new Promise(() => {});
  };
  const store = place.startsWith('postgres') ? postgres(place) : sqlite(place);
  await createTasks({ store, tools: [climb(third)] }).work();
}
