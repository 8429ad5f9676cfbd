/** A plain call through the gateway is repeated after its connection was lost. */
import { expect, test } from 'vitest';
import { Operator } from '../../src/operator/operator.ts';
import { Peer } from '../dialects/revision-2025-11-25/peer.ts';
import { answeringOf } from '../hand-over/stage.ts';
import { notes, openGateway, toy } from './stage.ts';

async function lost(config: object) {
  const stage = await openGateway({ mcpServers: { toy: { ...toy, ...config } } });
  const peer = new Peer(stage.url.href, { capabilities: {} });
  await peer.open();
  const { file, lines } = notes();
  const call = { name: 'write', arguments: { file, ms: 1_500 } };
  const cut = new AbortController();
  const first = peer.send('tools/call', call, cut.signal);
  await expect.poll(lines).toEqual(['begun']);
  // Calls that end within 100 ms have no task; this one has.
  const { tasks } = stage.gateway;
  const operator = new Operator(tasks);
  await expect.poll(async () => (await operator.list({})).tasks.length).toBe(1);
  const id = (await operator.list({})).tasks[0]!.id;
  cut.abort();
  await expect(first).rejects.toThrow();
  const isOver = async () => (await tasks.get(id))?.phase === 'done' || !(await answeringOf(tasks, id));
  await expect.poll(isOver).toBe(true);
  return { stage, lines, again: () => peer.call('write', call.arguments) };
}

test('the repeated call joins the lost one, and the upstream is called once', async () => {
  const { stage, lines, again } = await lost({});
  await using _ = stage;
  expect(await again()).toMatchObject({ result: { content: [{ text: 'worked' }] } });
  expect(lines()).toEqual(['begun', 'done']);
});

test('the repeated call is a new call if the config sets joinable to false', async () => {
  const { stage, lines, again } = await lost({ joinable: false });
  await using _ = stage;
  await again();
  expect(lines().filter((line) => line === 'begun')).toHaveLength(2);
});
