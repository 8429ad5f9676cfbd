/** On a pipe there is one owner: whoever started the process. */
import { serveHttp, staticTokens } from 'holdfast/server';
import { sqlite } from 'holdfast/sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { flagging } from '../dialects/drafts/peer.ts';
import { related } from '../dialects/sep-1686/requestor.ts';
import { fixtureFactory, fixtureTasks } from '../fixture/server.ts';
import { fixtureOnPipe } from '../kit/serve.ts';
import { extension, type Message, subtasks } from '../kit/wire.ts';
import { Place } from '../serving/place.ts';
import { RawClient } from '../serving/raw-client.ts';
import { absentId } from './stage.ts';

/** A server on a pipe; its client opens a session, or says with each request what it knows. */
async function piped(file: string, capabilities: object, isLater = false) {
  const options = { store: sqlite(file), drafts: 'all' } as const;
  const { client, server } = await fixtureOnPipe(options, { tasks: false, capabilities });
  if (!isLater) await client.open(capabilities);
  const request = async (method: string, params: object): Promise<Message> => {
    const { id: _, ...answer } = await client.request(method, params);
    return answer;
  };
  return { request, stop: () => server.stop() };
}

const flags = { elicitation: {} };
const dialects: [string, object, boolean][] = [
  ['2026-07-28', { ...flags, extensions: { [extension]: {} } }, true],
  ['2026-07-28 with subtasks', { ...flags, extensions: { [extension]: {}, [subtasks]: {} } }, true],
  ['2025-11-25', flagging(), false],
  ['SEP-2229', flagging('sep-2229'), false],
  ['SEP-2268', flagging('sep-2268'), false],
  ['SEP-2339', flagging('sep-2339'), false],
  ['all drafts', flagging('sep-2229', 'sep-2268', 'sep-2339'), false],
];

test('S2663-98: on stdio there is one owner: every dialect sees what any other made, in this process and the next', async () => {
  const place = new Place();
  const made: string[] = [];
  for (const [name, capabilities, isLater] of dialects) {
    const pipe = await piped(place.database, capabilities, isLater);
    const params = { name: 'nap', arguments: { ms: 3_600_000 }, ...(!isLater && { task: {} }) };
    const { result } = await pipe.request('tools/call', params);
    made.push(isLater ? result.taskId : result.task.taskId);
    for (const taskId of made) {
      const looked = await pipe.request('tasks/get', { taskId });
      expect([name, looked.result?.status]).toEqual([name, 'working']);
    }
    // SEP-1686 is a matter of each request.
    if (!isLater)
      for (const taskId of made) {
        const { result } = await pipe.request('tasks/get', { taskId, _meta: related(taskId) });
        expect(['submitted', 'working']).toContain(result.status);
      }
    await pipe.stop();
  }
  expect(new Set(place.tasks().map(({ owner }) => owner))).toEqual(new Set(['local']));
});

test('S2663-98: what was made on a pipe is nobody else’s, and what was made elsewhere is not there on a pipe', async () => {
  const place = new Place();
  const pipe = await piped(place.database, dialects[0]![1], true);
  const nap = { name: 'nap', arguments: { ms: 3_600_000 } };
  const mine = (await pipe.request('tools/call', nap)).result.taskId;

  const token = 'token-of-ada'.padEnd(32, 'x');
  const open = async (auth?: ReturnType<typeof staticTokens>) => {
    const tasks = fixtureTasks({ store: sqlite(place.database) });
    const server = await serveHttp(tasks, fixtureFactory(tasks), {
      port: 0,
      stopOn: [],
      ...(auth && { auth }),
    });
    onTestFinished(() => server.stop());
    return new RawClient(server.url, { token });
  };
  const others = [await open(staticTokens({ [token]: { clientId: 'ada' } })), await open()];
  for (const client of others) {
    const { taskId } = (await client.call('nap', { ms: 3_600_000 })).result;
    const [foreign, absent] = [await client.get(mine), await client.get(absentId)];
    expect(foreign).toEqual(saying(absent, mine));
    expect(foreign.error?.code).toBe(-32602);
    const get = (id: string) => pipe.request('tasks/get', { taskId: id });
    expect(await get(taskId)).toEqual(saying(await get(absentId), taskId));
  }
});

/** What was said about the task that is not there, about another. */
function saying<T>(reply: T, id: string): T {
  return JSON.parse(JSON.stringify(reply).replaceAll(absentId, id)) as T;
}
