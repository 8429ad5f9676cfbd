/** Our client, as a host has it, for any server. */
import type { Transport } from '@modelcontextprotocol/client';
import { type Answer, type ConnectTasksOptions, connectTasks, type Question } from 'holdfast/client';
import { sdkClient } from '../../kit/sdk.ts';

export type OurClient = Awaited<ReturnType<typeof connectOurClient>>;

export async function connectOurClient(
  where: URL | (() => Transport),
  { isModern = false, ...options }: ConnectTasksOptions & { isModern?: boolean } = {},
) {
  const asked: Question[] = [];
  const tasks = await connectTasks(sdkClient(isModern ? 'auto' : 'legacy'), where, {
    registry: 'memory:',
    pace: { floorMs: 20, ceilingMs: 200 },
    answers: ['form', 'url', 'sampling'],
    answer: (question) => {
      asked.push(question);
      return answerTo(question);
    },
    ...options,
  });
  return { tasks, asked, [Symbol.asyncDispose]: () => tasks.close() };
}

/** Says yes, and whatever a form lets it say. */
function answerTo(question: Question): Answer {
  if (question.kind === 'sampling')
    return { role: 'assistant', model: 'none', content: { type: 'text', text: 'The tide is high.' } };
  if (question.kind !== 'form') return { action: 'accept' };
  const { properties = {}, required = [] } = question.schema as {
    properties?: Record<string, { type?: string; oneOf?: { const: string }[]; enum?: string[] }>;
    required?: string[];
  };
  const content = Object.fromEntries(
    required.map((name) => {
      const { type, oneOf, enum: choices } = properties[name] ?? {};
      if (type === 'boolean') return [name, true];
      return [name, oneOf?.[0]?.const ?? choices?.[0] ?? 'Ada'];
    }),
  );
  return { action: 'accept', content };
}
