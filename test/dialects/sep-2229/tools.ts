/** Tools that differ in when they become tasks, and in nothing else. */
import { type DurableTool, durableTool, type TaskSetting } from 'holdfast';
import { z } from 'zod';

function quick(task: TaskSetting): DurableTool {
  return durableTool(`quick_${task}`, { task }, async () => 'quick') as DurableTool;
}

/** Ends when `tasks.complete(id, 'go')` says so. */
function held(task: TaskSetting): DurableTool {
  return durableTool(`held_${task}`, { task }, async (_, context) => {
    await context.waitForEvent('go');
    return 'went';
  }) as DurableTool;
}

const asking = durableTool('asking_auto', { task: 'auto' }, async (_, task) => {
  const answer = await task.ask('name', { message: 'Who?', schema: z.object({ name: z.string() }) });
  return answer.action === 'accept' ? `Hello, ${answer.content.name}!` : 'nobody';
}) as DurableTool;

const telling = durableTool('telling_auto', { task: 'auto' }, async (_, task) => {
  await task.waitForEvent('go');
  task.progress(1, 2);
  await task.waitForEvent('end');
  return 'told';
}) as DurableTool;

export const settings: readonly TaskSetting[] = ['auto', 'always', 'required', 'never'];
export const tools = [...settings.map(quick), ...settings.map(held), asking, telling];

export const quickResult = { content: [{ type: 'text', text: 'quick' }] };
