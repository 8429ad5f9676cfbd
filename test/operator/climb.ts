/** A tool of five steps; in a process that is to be killed the third one never ends. */
import { durableTool } from 'holdfast';

export function climb(third: () => unknown = () => 3) {
  return durableTool('climb', {}, async (_, task) => {
    for (let step = 1; step <= 5; step++)
      await task.step(`step ${step}`, () => (step === 3 ? third() : step));
    return 'At the top.';
  });
}
