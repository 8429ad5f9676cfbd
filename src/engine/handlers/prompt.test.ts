import { expect, test } from 'vitest';
import { ProtocolError } from '../replay/recorded-error.ts';
import { durablePrompt } from './prompt.ts';

const review = durablePrompt('review', {}, async () => '');

async function shaped(returned: unknown) {
  const outcome = await review.outcome(returned, { input: {}, maxSize: 1_000 });
  return outcome.kind === 'result' ? outcome.value : outcome;
}

const said = (role: string, text: string) => ({ role, content: { type: 'text', text } });

test('a text becomes what the user says', async () => {
  expect(await shaped('Review this.')).toEqual({ messages: [said('user', 'Review this.')] });
});

test('messages, alone or in a whole result, are taken as they are', async () => {
  const messages = [said('user', 'Hello.'), said('assistant', 'Hello!')];
  expect(await shaped(messages)).toEqual({ messages });
  expect(await shaped({ messages, description: 'A greeting' })).toEqual({
    messages,
    description: 'A greeting',
  });
});

test.each([
  { returned: undefined },
  { returned: 7 },
  { returned: { text: 'Hello.' } },
  { returned: { messages: 'Hello.' } },
  { returned: [said('system', 'Hello.')] },
  { returned: [{ role: 'user', content: 'Hello.' }] },
])('$returned is no prompt', async ({ returned }) => {
  await expect(shaped(returned)).rejects.toThrow('The handler returned no prompt.');
});

test('there are no error results: whatever is thrown is a failure, and a protocol error keeps its code', () => {
  expect(review.failure('oops')).toEqual({ kind: 'failure', message: 'oops' });
  expect(review.failure(new ProtocolError(-32602, 'Which?'))).toEqual({
    kind: 'failure',
    code: -32602,
    message: 'Which?',
  });
});

test('a name is one that a tool could have, and no tool has its key', () => {
  expect(review).toMatchObject({ name: 'prompt/review', listedAs: 'review', method: 'prompts/get' });
  expect(() => durablePrompt('a/b', {}, async () => '')).toThrow(
    expect.objectContaining({ code: 'INVALID_TOOL' }),
  );
});
