/** `before(input, ask)`: what a tool gathers from its caller before there is a task. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Place } from './place.ts';
import { accept, type RawClient } from './raw-client.ts';
import { type HttpProcess, serve } from './server-process.ts';

const ada = { name: accept({ name: 'Ada' }) };
const blue = { colour: accept({ colour: 'blue' }) };
const grace = { name: accept({ name: 'Grace' }) };

const place = new Place();
let server: HttpProcess;
let client: RawClient;
beforeAll(async () => {
  server = await serve({ file: place.database, tokens: { a: 'alice', b: 'bob' } });
  client = server.client({ token: 'a' });
});
afterAll(() => server.kill());

/** Both rounds, up to the call that has all the answers. */
async function gathered(from: RawClient, tool: string) {
  const first = await from.call(tool);
  const second = await from.call(
    tool,
    {},
    {
      inputResponses: ada,
      requestState: first.result.requestState,
    },
  );
  const { requestState } = second.result;
  const third = await from.call(tool, {}, { inputResponses: blue, requestState });
  return { first, second, third };
}

test('what a tool gathers is asked round by round, and only then is there a task (S2663-27)', async () => {
  const before = place.tasks().length;
  const first = await client.call('gather_always');
  expect(first.result).toMatchObject({
    resultType: 'input_required',
    inputRequests: { name: { method: 'elicitation/create', params: { message: 'Name before?' } } },
  });
  expect(Object.keys(first.result.inputRequests)).toEqual(['name']);
  const { requestState } = first.result;
  const second = await client.call('gather_always', {}, { inputResponses: ada, requestState });
  expect(second.result).toMatchObject({ resultType: 'input_required' });
  expect(Object.keys(second.result.inputRequests)).toEqual(['colour']);
  expect(place.tasks()).toHaveLength(before);

  const third = await client.call(
    'gather_always',
    {},
    { inputResponses: blue, requestState: second.result.requestState },
  );
  expect(third.result).toMatchObject({ resultType: 'task' });
  expect(place.tasks()).toHaveLength(before + 1);
});

test('the same key before the task and in it stands for two questions (S2663-28)', async () => {
  const { third } = await gathered(client, 'gather_always');
  const { taskId } = third.result;
  expect(await client.until(taskId, 'input_required')).toMatchObject({
    inputRequests: { name: { params: { message: 'Name later?' } } },
  });
  await client.update(taskId, grace);
  expect(await client.until(taskId, 'completed')).toMatchObject({
    result: { content: [{ text: 'Ada blue Grace' }] },
  });
});

test('the same key stands for two questions to a caller without tasks too (S2663-28)', async () => {
  const plain = server.client({ token: 'a', tasks: false });
  const { third } = await gathered(plain, 'gather_never');
  expect(third.result).toMatchObject({
    resultType: 'input_required',
    inputRequests: { name: { params: { message: 'Name later?' } } },
  });
  const { requestState } = third.result;
  const last = await plain.call('gather_never', {}, { inputResponses: grace, requestState });
  expect(last.result).toMatchObject({ resultType: 'complete', content: [{ text: 'Ada blue Grace' }] });
});

test('the answers given so far travel sealed: neither read nor changed on their way (S2322-15)', async () => {
  const { second } = await gathered(client, 'gather_always');
  const { requestState } = second.result;
  expect(Buffer.from(requestState, 'base64url').toString('latin1')).not.toContain('Ada');
  const tampered = `${requestState.slice(0, -4)}AAAA`;
  const reply = await client.call('gather_always', {}, { inputResponses: blue, requestState: tampered });
  expect(reply.error).toMatchObject({ code: -32602 });
});

test('what one owner has gathered is of no use to another (S2322-14)', async () => {
  const { second } = await gathered(client, 'gather_always');
  const stranger = server.client({ token: 'b' });
  const { requestState } = second.result;
  const reply = await stranger.call('gather_always', {}, { inputResponses: blue, requestState });
  expect(reply.error).toMatchObject({ code: -32602 });
});

test('an answer that was not asked for in that round counts for nothing (S2322-17)', async () => {
  const first = await client.call('gather_always');
  const { requestState } = first.result;
  const inputResponses = { ...ada, ...blue };
  const second = await client.call('gather_always', {}, { inputResponses, requestState });
  expect(Object.keys(second.result.inputRequests)).toEqual(['colour']);
});

test('a missing answer is asked for again (S2322-18)', async () => {
  const { requestState } = (await client.call('gather_always')).result;
  const again = await client.call('gather_always', {}, { inputResponses: {}, requestState });
  expect(again.result).toMatchObject({ resultType: 'input_required', inputRequests: { name: {} } });
});

test('a client that cannot be asked is told which capability it lacks, before anything is made (S2322-16)', async () => {
  const before = place.tasks().length;
  const mute = server.client({ token: 'a', capabilities: { sampling: {} } });
  expect(await mute.call('gather_always')).toMatchObject({
    status: 400,
    error: {
      code: -32021,
      message: expect.stringContaining('"name"'),
      data: { requiredCapabilities: { elicitation: { form: {} } } },
    },
  });
  expect(place.tasks()).toHaveLength(before);
});

test('a server that is killed between the rounds is replaced by the next on the same store', async () => {
  const own = new Place();
  const first = await serve({ file: own.database });
  const { requestState } = (await first.client().call('gather_always')).result;
  await first.kill();
  const second = await serve({ file: own.database });
  const retry = { inputResponses: ada, requestState };
  expect((await second.client().call('gather_always', {}, retry)).result).toMatchObject({
    resultType: 'input_required',
    inputRequests: { colour: {} },
  });
});
