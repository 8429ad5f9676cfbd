/** Questions of a handler whose caller takes no tasks: they are the answer to its call, and its retry goes on. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Place, standing } from './place.ts';
import { accept, type RawClient } from './raw-client.ts';
import { type HttpProcess, serve } from './server-process.ts';

const plain = { tasks: false };
const ada = { name: accept({ name: 'Ada' }) };

const place = new Place();
let server: HttpProcess;
let client: RawClient;
/** Of another owner. */
let stranger: RawClient;
beforeAll(async () => {
  server = await serve({
    file: place.database,
    tokens: { a: 'alice', b: 'bob' },
    plainClients: 'wait',
  });
  client = server.client({ ...plain, token: 'a' });
  stranger = server.client({ ...plain, token: 'b' });
});
afterAll(() => server.kill());

test('a question is answered to the call, and the retry goes on behind the steps before it', async () => {
  const input = place.work('goes on');
  const asked = await client.call('ask', input);
  expect(asked).toMatchObject({
    status: 200,
    result: {
      resultType: 'input_required',
      inputRequests: {
        name: {
          method: 'elicitation/create',
          params: { mode: 'form', message: 'What is your name?', requestedSchema: { required: ['name'] } },
        },
      },
      requestState: expect.any(String),
    },
  });
  expect(place.trace('goes on')).toEqual(['before']);
  const { requestState } = asked.result;
  const { result } = await client.call('ask', input, { inputResponses: ada, requestState });
  expect(result).toMatchObject({ resultType: 'complete', content: [{ text: 'Hello, Ada!' }] });
  expect(place.trace('goes on')).toEqual(['before', 'after Ada']);
});

test('the state is opaque: it shows neither the id of the work nor what was called', async () => {
  const { result } = await client.call('ask', place.work('opaque'));
  const { id } = place.tasks('ask').at(-1)!;
  const bytes = Buffer.from(result.requestState, 'base64url').toString('latin1');
  for (const secret of [id, 'alice', 'ask', 'parked'])
    expect(`${result.requestState} ${bytes}`).not.toContain(secret);
});

test('who answers some of the questions is asked the others again (S2322-18)', async () => {
  const asked = await client.call('ask_two');
  expect(Object.keys(asked.result.inputRequests)).toEqual(['first', 'last']);
  const half = await client.call(
    'ask_two',
    {},
    {
      inputResponses: { last: accept({ name: 'Lovelace' }) },
      requestState: asked.result.requestState,
    },
  );
  expect(half.result).toMatchObject({ resultType: 'input_required', requestState: expect.any(String) });
  expect(Object.keys(half.result.inputRequests)).toEqual(['first']);
  const whole = await client.call(
    'ask_two',
    {},
    {
      inputResponses: { first: accept({ name: 'Ada' }) },
      requestState: half.result.requestState,
    },
  );
  expect(whole.result).toMatchObject({ content: [{ text: 'Ada Lovelace' }] });
});

test('who answers nothing is asked everything again (S2322-18)', async () => {
  const input = place.work('nothing');
  const asked = await client.call('ask', input);
  const { requestState } = asked.result;
  const again = await client.call('ask', input, { requestState });
  expect(again.result).toMatchObject({ resultType: 'input_required', inputRequests: { name: {} } });
  expect(place.trace('nothing')).toEqual(['before']);
});

test('answers that nobody asked for are passed over (S2322-17)', async () => {
  const input = place.work('extra');
  const { requestState } = (await client.call('ask', input)).result;
  const inputResponses = { ...ada, colour: accept({ colour: 'blue' }), '1/name': accept({ name: 'Eve' }) };
  const { result } = await client.call('ask', input, { inputResponses, requestState });
  expect(result).toMatchObject({ resultType: 'complete', content: [{ text: 'Hello, Ada!' }] });
});

test('answers without a state are passed over: the call begins anew', async () => {
  const input = place.work('stateless');
  await client.call('ask', input);
  const { result } = await client.call('ask', input, { inputResponses: ada });
  expect(result).toMatchObject({ resultType: 'input_required' });
  expect(place.trace('stateless')).toEqual(['before', 'before']);
});

test('an answer that does not fit is refused, and may be given again', async () => {
  const input = place.work('misfit');
  const { requestState } = (await client.call('ask', input)).result;
  const bad = await client.call('ask', input, {
    inputResponses: { name: accept({ name: 7 }) },
    requestState,
  });
  expect(bad.error).toMatchObject({ code: -32602, message: expect.stringContaining('"name"') });
  const good = await client.call('ask', input, { inputResponses: ada, requestState });
  expect(good.result).toMatchObject({ content: [{ text: 'Hello, Ada!' }] });
});

test('a retry that is sent again after its answer gets the same result, and nothing runs twice', async () => {
  const input = place.work('repeated');
  const { requestState } = (await client.call('ask', input)).result;
  const retry = () => client.call('ask', input, { inputResponses: ada, requestState });
  const [first, second] = [await retry(), await retry()];
  expect(second.result).toEqual(first.result);
  expect(place.trace('repeated')).toEqual(['before', 'after Ada']);
});

test('questions of subtasks are put under keys that lead to them', async () => {
  const input = place.work('subtasks');
  // The first of them may be asked before the second is there.
  let reply = await client.call('parent_of_askers', input);
  const names: Record<string, string> = { '1/name': 'Ada', '2/name': 'Grace' };
  const seen: string[] = [];
  while (reply.result.resultType === 'input_required') {
    const { inputRequests, requestState } = reply.result;
    const keys = Object.keys(inputRequests);
    seen.push(...keys);
    const inputResponses = Object.fromEntries(keys.map((key) => [key, accept({ name: names[key] })]));
    reply = await client.call('parent_of_askers', input, { inputResponses, requestState });
  }
  expect(seen.toSorted()).toEqual(['1/name', '2/name']);
  expect(reply.result).toMatchObject({ content: [{ text: 'Hello, Ada! Hello, Grace!' }] });
});

test('a question that the client cannot be shown is not put to it (S2322-16)', async () => {
  const mute = server.client({ ...plain, token: 'a', capabilities: {} });
  const waiting = () => standing(place.tasks('ask')).filter((phase) => phase === 'waiting').length;
  const before = waiting();
  expect(await mute.call('ask', place.work('mute'))).toMatchObject({
    status: 400,
    error: { code: -32021, data: { requiredCapabilities: { elicitation: { form: {} } } } },
  });
  expect(place.trace('mute')).toEqual(['before']);
  expect(waiting()).toBe(before);
});

describe('a state is refused, and the work stays where it is (S2322-14, S2322-15)', () => {
  const refused = {
    status: 200,
    error: { code: -32602, data: { reason: 'invalid_request_state' } },
  };

  test('when a character of it was changed', async () => {
    const input = place.work('tampered');
    const { requestState } = (await client.call('ask', input)).result;
    for (const at of [0, 20, requestState.length / 2, requestState.length - 2].map(Math.floor)) {
      const other = requestState[at] === 'A' ? 'B' : 'A';
      const tampered = requestState.slice(0, at) + other + requestState.slice(at + 1);
      const reply = await client.call('ask', input, { inputResponses: ada, requestState: tampered });
      expect(reply).toMatchObject(refused);
    }
    expect(place.trace('tampered')).toEqual(['before']);
  });

  test.each([
    ['nothing', ''],
    ['a letter', 'x'],
    ['too much', 'a'.repeat(10_000)],
  ])('when it is something else: %s', async (_, requestState) => {
    const input = place.work('something else');
    const reply = await client.call('ask', input, { inputResponses: ada, requestState });
    expect(reply).toMatchObject(refused);
  });

  test('when another owner brings it', async () => {
    const input = place.work('stolen');
    const { requestState } = (await client.call('ask', input)).result;
    expect(await stranger.call('ask', input, { inputResponses: ada, requestState })).toMatchObject(refused);
    expect(place.trace('stolen')).toEqual(['before']);
    // Its owner can still use it.
    const { result } = await client.call('ask', input, { inputResponses: ada, requestState });
    expect(result).toMatchObject({ content: [{ text: 'Hello, Ada!' }] });
  });

  test('when the arguments are others', async () => {
    const { requestState } = (await client.call('ask', place.work('these'))).result;
    const reply = await client.call('ask', place.work('others'), { inputResponses: ada, requestState });
    expect(reply).toMatchObject(refused);
    expect([place.trace('these'), place.trace('others')]).toEqual([['before'], []]);
  });

  test('when it comes to another tool', async () => {
    const { requestState } = (await client.call('ask_two')).result;
    expect(await client.call('parent_of_askers', {}, { inputResponses: ada, requestState })).toMatchObject(
      refused,
    );
  });
});

describe('a server that was killed between the rounds', () => {
  test('the next one on the same store goes on behind the steps before the question', async () => {
    const own = new Place();
    const first = await serve({ file: own.database });
    const { requestState } = (await first.client(plain).call('ask', own.work())).result;
    // Once nobody holds the work, it only waits.
    await expect.poll(() => own.tasks().map((task) => 'worker' in task)).toEqual([false]);
    await first.kill();
    const second = await serve({ file: own.database });
    const retry = { inputResponses: ada, requestState };
    expect(await second.client(plain).call('ask', own.work(), retry)).toMatchObject({
      result: { resultType: 'complete', content: [{ text: 'Hello, Ada!' }] },
    });
    expect(own.trace()).toEqual(['before', 'after Ada']);
  });

  test('may have been killed with the question on its way', async () => {
    const own = new Place();
    const first = await serve({ file: own.database });
    const { requestState } = (await first.client(plain).call('ask', own.work())).result;
    await first.kill();
    const second = await serve({ file: own.database });
    // The claim of the dead process is looked at before the caller is back.
    await expect.poll(() => own.tasks().map((task) => 'worker' in task)).toEqual([false]);
    const retry = { inputResponses: ada, requestState };
    expect(await second.client(plain).call('ask', own.work(), retry)).toMatchObject({
      result: { resultType: 'complete', content: [{ text: 'Hello, Ada!' }] },
    });
    expect(own.trace()).toEqual(['before', 'after Ada']);
  });

  test('may have been killed with work beside the question under way', async () => {
    const own = new Place();
    const first = await serve({ file: own.database });
    const { requestState } = (await first.client(plain).call('ask_beside_work', own.work())).result;
    await first.kill();
    const second = await serve({ file: own.database });
    own.open();
    const retry = { inputResponses: ada, requestState };
    await expect.poll(() => own.tasks()[0]!.epoch).toBeGreaterThan(1);
    expect(await second.client(plain).call('ask_beside_work', own.work(), retry)).toMatchObject({
      result: { resultType: 'complete', content: [{ text: 'Hello, Ada!' }] },
    });
  });
});
