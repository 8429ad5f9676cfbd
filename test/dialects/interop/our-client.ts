/** Our client, as a host has it, for any server. */
import { Client, type Transport } from '@modelcontextprotocol/client';
import {
  type Answer,
  type ConnectTasksOptions,
  connectTasks,
  type Question,
  type TaskClient,
} from 'holdfast/client';

export interface OurClient extends AsyncDisposable {
  readonly tasks: TaskClient;
  readonly asked: readonly Question[];
}

export async function connectOurClient(
  where: URL | (() => Transport),
  { isModern = false, ...options }: ConnectTasksOptions & { isModern?: boolean } = {},
): Promise<OurClient> {
  const client = new Client(
    { name: 'holdfast-interop', version: '1.0.0' },
    isModern ? { versionNegotiation: { mode: 'auto' } } : {},
  );
  const asked: Question[] = [];
  const tasks = await connectTasks(client, where, {
    handles: 'memory:',
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
  if (question.kind === 'sampling') return sampled();
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

function sampled() {
  return { role: 'assistant', model: 'none', content: { type: 'text', text: 'The tide is high.' } };
}
