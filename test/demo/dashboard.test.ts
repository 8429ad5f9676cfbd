/** The dashboard of the demo with its token, and the first tasks of an empty store. */
import { expect, test } from 'vitest';
import type { TaskDetails, TaskPage } from '../../src/operator/api.ts';
import { temporaryFolder } from '../cli/terminal.ts';
import { holdfast } from './terminal.ts';

async function started(cwd: string) {
  const demo = holdfast('demo', { cwd });
  const [, origin, token] = await demo.says(/(http:\S+)\/operator\/#token=(\S+)[\s\S]*second terminal/);
  const api = async <T>(path: string) => {
    const response = await fetch(`${origin}/operator/api${path}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    return (await response.json()) as T;
  };
  return { demo, origin: origin!, token: token!, api };
}

test('only the first start creates tasks of every kind', async () => {
  const cwd = temporaryFolder();
  const first = await started(cwd);
  const statuses = async (api: typeof first.api) => {
    const { tasks } = await api<TaskPage>('/tasks');
    return tasks.map(({ tool, status }) => `${tool} ${status}`).toSorted();
  };
  await expect
    .poll(() => statuses(first.api))
    .toEqual([
      'count completed',
      'count running',
      'report_on_folder waiting',
      'run_tests completed',
      'run_tests failed',
    ]);
  const { tasks } = await first.api<TaskPage>('/tasks?tool=report_on_folder');
  const details = await first.api<TaskDetails>(`/tasks/${tasks[0]!.id}`);
  expect(details.children.map(({ status }) => status)).toEqual(Array(6).fill('completed'));
  expect(details.questions).toMatchObject([{ key: 'approval', state: 'open' }]);

  first.demo.signal('SIGKILL');
  await first.demo.ended;
  const second = await started(cwd);
  expect(second.token).not.toBe(first.token);
  expect(await statuses(second.api)).toHaveLength(5);
  const [counting] = (await second.api<TaskPage>('/tasks?status=running')).tasks;
  await expect
    .poll(async () => (await second.api<TaskDetails>(`/tasks/${counting!.id}`)).passes.map(({ end }) => end))
    .toEqual(['crashed', 'running']);
});

test('the root redirects to the dashboard, and does not reveal the token', async () => {
  const { origin, token } = await started(temporaryFolder());
  const root = await fetch(origin, { redirect: 'manual' });
  expect([root.status, root.headers.get('location')]).toEqual([302, '/operator/']);
  expect(await (await fetch(`${origin}/operator/`)).text()).not.toContain(token);
  expect((await fetch(`${origin}/operator/api/tasks`)).status).toBe(401);
  expect((await fetch(`${origin}/tasks.json`)).status).toBe(404);
});
