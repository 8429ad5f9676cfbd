import { expect, test } from 'vitest';
import { ProtocolError } from '../replay/recorded-error.ts';
import { durablePrompt } from './prompt.ts';

const review = durablePrompt('review', {}, async () => '');

async function shaped(returned: unknown) {
  const outcome = await review.outcome(returned, { input: {}, maxSize: 1_000 });
  return outcome.kind === 'result' ? outcome.value : outcome;
}

const message = (role: string, text: string) => ({ role, content: { type: 'text', text } });

test('a text becomes a message of the user', async () => {
  expect(await shaped('Review this.')).toEqual({ messages: [message('user', 'Review this.')] });
});

test('messages, alone or in a complete result, are returned unchanged', async () => {
  const messages = [message('user', 'Hello.'), message('assistant', 'Hello!')];
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
  { returned: [message('system', 'Hello.')] },
  { returned: [{ role: 'user', content: 'Hello.' }] },
])('$returned is not a prompt', async ({ returned }) => {
  await expect(shaped(returned)).rejects.toThrow('The handler did not return a prompt.');
});

test('every thrown value is a failure, never an error result, and a protocol error keeps its code', () => {
  expect(review.failure('oops')).toEqual({ kind: 'failure', message: 'oops' });
  expect(review.failure(new ProtocolError(-32602, 'Which?'))).toEqual({
    kind: 'failure',
    code: -32602,
    message: 'Which?',
  });
});

test('a prompt name follows the rules of tool names, and its key differs from every tool name', () => {
  expect(review).toMatchObject({ name: 'prompt/review', listedAs: 'review', method: 'prompts/get' });
  expect(() => durablePrompt('a/b', {}, async () => '')).toThrow(
    expect.objectContaining({ code: 'INVALID_TOOL' }),
  );
});
