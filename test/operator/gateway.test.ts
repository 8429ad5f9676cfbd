/** The operator API of a gateway, and the retry of a call to an upstream. */
import { expect, onTestFinished, test } from 'vitest';
import { Operator } from '../../src/operator/operator.ts';
import { temporaryFolder } from '../cli/terminal.ts';
import { holdfast } from '../demo/terminal.ts';
import { connectOurClient } from '../dialects/interop/our-client.ts';
import { notes, openGateway, toy } from '../gateway/stage.ts';
import { send } from './stage.ts';

function served(options: string, env = '') {
  const words = [process.execPath, ...toy.args].map((word) => `'${word}'`).join(' ');
  const command = `serve --store memory: ${options} -- ${words}`;
  return holdfast(command, { cwd: temporaryFolder() }, env);
}

test('holdfast serve --operator prints the address of the dashboard with a valid token', async () => {
  const [, url, token] = await served('--operator').says(/^dashboard (http:\S+)#token=([\w-]{22,})$/m);
  expect((await send(`${url}api/about`, { token: token! })).status).toBe(200);
  expect((await send(`${url}api/about`)).status).toBe(401);
});

test('a token from the environment is used and not printed', async () => {
  const token = 'from-the-environment-0123456789';
  const gateway = served('--operator --json', `HOLDFAST_OPERATOR_TOKEN=${token}`);
  const [line, url] = await gateway.says(/^\{"ready":.*"dashboard":"([^"]*)"\}$/m);
  expect(line).not.toContain(token);
  expect((await send(`${url}api/about`, { token })).status).toBe(200);
});

test('without --operator there is no dashboard', async () => {
  const [, url] = await served('').says(/^ready (http:\S+)\/mcp$/m);
  expect((await send(`${url}/operator/`)).status).toBe(404);
});

test('a retry calls the upstream again for a cancelled call', async () => {
  await using stage = await openGateway({ mcpServers: { toy } });
  const { tasks } = stage.gateway;
  const client = await connectOurClient(stage.url, { isModern: true });
  onTestFinished(() => client.tasks.close());
  const { file, lines } = notes();
  const handle = await client.tasks.call('write', { file, ms: 600_000 });
  await expect.poll(lines).toEqual(['begun']);
  const desk = new Operator(tasks);
  const [call] = (await desk.list({})).tasks;
  expect(call!.status).toBe('running');
  await desk.cancel(call!.id);
  await handle.result().catch(() => {});
  const again = await desk.retry(call!.id);
  // It did begin, though nobody can know how far the first one had come.
  await expect.poll(() => lines().filter((line) => line === 'begun').length).toBe(2);
  expect((await desk.details(again.id))!.retryOf).toBe(call!.id);
  await desk.cancel(again.id);
});
