/**
 * Tools that do what their arguments say: a plan of subtasks, questions and waits, and how to end. So a test can grow
 * any tree over the wire.
 */
import { type DurableTool, durableTool, ProtocolError, type Subtask, type TaskContext } from 'holdfast';
import { z } from 'zod';

export interface Plan {
  readonly label: string;
  readonly acts: readonly Act[];
  readonly end: End;
  readonly tool?: ToolName;
}

export type ToolName = 'grow' | 'grow_briefly' | 'grow_freely';

/** With an error result, with an exception, with a JSON-RPC error; or it never does. */
export type End = 'result' | 'error' | 'throw' | 'fail' | 'hang';

export type Act =
  | { readonly do: 'start'; readonly plan: Plan }
  /** Puts a question; the words say whose it is, under which key, and what is to become of it. */
  | { readonly do: 'ask'; readonly key: string; readonly fate: Fate; readonly aside?: boolean }
  /** Waits for `tasks.complete(id, event)`. */
  | { readonly do: 'wait'; readonly event: string }
  /** Waits for the n-th subtask. What becomes of it is no matter, unless it says so. */
  | { readonly do: 'join'; readonly n: number; readonly orThrow?: boolean }
  | { readonly do: 'stop'; readonly n: number }
  | { readonly do: 'sleep'; readonly ms: number }
  /** With a gate, it ends when the test opens that. */
  | { readonly do: 'step'; readonly gate?: string }
  | { readonly do: 'say'; readonly words: string }
  | { readonly do: 'poll'; readonly ms: number };

/** What the client does with a question: answers it as pushed or by `tasks/update`, declines it, or leaves it. */
export type Fate = 'accept' | 'decline' | 'update' | 'leave';

type Gate = Readonly<Record<'reached' | 'opened', PromiseWithResolvers<unknown>>>;
const gates = new Map<string, Gate>();

/** For tests in the process of the server: where its handlers wait for them. */
export function gate(name: string): Gate {
  const made = { reached: Promise.withResolvers<unknown>(), opened: Promise.withResolvers<unknown>() };
  const one = gates.get(name) ?? made;
  gates.set(name, one);
  return one;
}

async function atGate(name: string): Promise<boolean> {
  gate(name).reached.resolve(true);
  await gate(name).opened.promise;
  return true;
}

const Input = z.object({ plan: z.any() });

interface Growing {
  readonly task: TaskContext;
  readonly label: string;
  readonly subtasks: Subtask[];
  readonly said: string[];
}

const does: { [D in Act['do']]: (act: Extract<Act, { do: D }>, growing: Growing) => unknown } = {
  start: async ({ plan }, { task, subtasks }) =>
    subtasks.push(await task.start(growing[plan.tool ?? 'grow'], { plan })),
  async ask({ key, fate, aside }, { task, label, said }) {
    const message = JSON.stringify({ label, key, fate });
    const asked = task.ask(key, { message, schema: z.object({ ok: z.boolean() }) });
    if (aside) asked.catch(() => {});
    else said.push((await asked).action);
  },
  wait: ({ event }, { task }) => task.waitForEvent(event),
  join: async ({ n, orThrow }, { subtasks, said }) => said.push(await joined(subtasks[n]!, orThrow)),
  stop: ({ n }, { subtasks }) => subtasks[n]!.cancel('Its parent wants no more of it.'),
  sleep: ({ ms }, { task }) => task.sleep(ms),
  step: ({ gate }, { task }) => task.step('step', () => (gate === undefined ? true : atGate(gate))),
  say: ({ words }, { task }) => task.setStatusMessage(words),
  poll: ({ ms }, { task }) => task.setPollInterval(ms),
};

async function grow({ plan }: { plan?: unknown }, task: TaskContext) {
  const { label, acts, end } = plan as Plan;
  const said: string[] = [];
  const growing = { task, label, subtasks: [], said };
  for (const act of acts) await does[act.do](act as never, growing);
  if (end === 'throw') throw new Error(`${label} went wrong.`);
  if (end === 'fail') throw new ProtocolError(-32603, `${label} broke the protocol.`);
  if (end === 'hang') await task.waitForEvent('never');
  const content = [{ type: 'text' as const, text: [label, ...said].join(' ') }];
  return { content, ...(end === 'error' && { isError: true }) };
}

async function joined(subtask: Subtask, orThrow = false): Promise<string> {
  try {
    const { content } = await subtask.result();
    return `(${content.map((block) => String(block.text)).join('')})`;
  } catch (error) {
    if (orThrow) throw error;
    return '(nothing)';
  }
}

const tool = (name: string, more: { task?: 'auto'; deadline?: '150ms' | 'none' } = {}) =>
  durableTool(
    name,
    { description: 'Does what its plan says.', task: 'always', inputSchema: Input, ...more },
    grow,
  );

const growing: Readonly<Record<ToolName, DurableTool<typeof Input>>> = {
  grow: tool('grow'),
  grow_briefly: tool('grow_briefly', { deadline: '150ms' }),
  grow_freely: tool('grow_freely', { deadline: 'none' }),
};

const plainly = tool('grow_plainly', { task: 'auto' });

export const grownTools = [...Object.values(growing), plainly] as unknown as readonly DurableTool[];

export function node(label: string, acts: readonly Act[] = [], end: End = 'result'): Plan {
  return { label, acts, end };
}

export const start = (plan: Plan): Act => ({ do: 'start', plan });
export const wait = (event = 'go'): Act => ({ do: 'wait', event });
export const join = (n: number): Act => ({ do: 'join', n });
export const ask = (key: string, fate: Fate = 'leave'): Act => ({ do: 'ask', key, fate });
