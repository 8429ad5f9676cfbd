/** A server that never got the id of the task asks again: the person is not asked twice. */
import { expect, test } from 'vitest';
import { form, meet, relatedTask } from './raw-server.ts';

const about = (taskId: string) => ({ ...form, task: {}, _meta: { [relatedTask]: { taskId } } });

test('the same question of the same task is the same task, until the server shows that it knows it', async () => {
  const { server, person } = await meet();
  const first = (await server.request('elicitation/create', about('theirs'))).result.task.taskId;
  const again = (await server.request('elicitation/create', about('theirs'))).result.task.taskId;
  expect(again).toBe(first);
  await person.wasAsked();
  expect(person.asked).toHaveLength(1);
  await server.request('tasks/get', { taskId: first });
  const another = (await server.request('elicitation/create', about('theirs'))).result.task.taskId;
  expect(another).not.toBe(first);
});

test.each([
  ['of another task', about('others')],
  ['that asks something else', { ...about('theirs'), message: 'And your address?' }],
  ['of no task at all', { ...form, task: {} }],
])('a question %s is a task of its own', async (_, params) => {
  const { server } = await meet();
  const first = (await server.request('elicitation/create', about('theirs'))).result.task.taskId;
  const other = (await server.request('elicitation/create', params)).result.task.taskId;
  const last = (await server.request('elicitation/create', { ...form, task: {} })).result.task.taskId;
  expect(new Set([first, other, last]).size).toBe(3);
});
