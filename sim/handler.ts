/** The durable tool that plays programs and reports its actions to the witness. */
import { z } from 'zod';
import { type DurableTool, durableTool, type TaskContext } from '../src/index.ts';
import { pause } from '../src/runtime/runtime.ts';
import type { Oracles } from './oracles.ts';
import { attempts, type Node, type Program, whatIsThrown } from './programs.ts';

const Input = z.object({
  program: z.looseObject({ name: z.string(), parts: z.array(z.looseObject({ do: z.string() })) }),
});
const Answer = z.object({ answer: z.string() });

/** The deadline of a task that waits for an event that never comes. */
export const hurryMs = 10_000;

export const hurry = durableTool(
  'hurry',
  { task: 'always', inputSchema: z.object({}), deadline: hurryMs, retention: '12h' },
  async (_, task) => void (await task.waitForEvent('never')),
);

export interface Release {
  readonly version: string;
  /** The handler was changed without a new version: it makes one additional call. */
  readonly isChanged?: boolean;
}

/** `die` ends the calling process. */
export function player(
  witness: Oracles,
  { version, isChanged = false }: Release,
  die: () => void,
): DurableTool<typeof Input> {
  const options = { version, task: 'always', inputSchema: Input, deadline: '6h', retention: '12h' } as const;
  const tool: DurableTool<typeof Input> = durableTool('play', options, async ({ program }, task) => {
    // Only in tasks that others started: others must be able to continue its own.
    if (isChanged && witness.hasRecorded(task.id)) await task.step('changed', () => 'changed');
    witness.plays(task.id, program as unknown as Program, version);
    return play(program as unknown as Program, task);
  });

  async function play({ name, parts }: Program, task: TaskContext): Promise<string> {
    const values: string[] = [];
    for (const [index, part] of parts.entries()) values.push(await one(name, part, index, task));
    return values.join(' ');
  }

  async function one(name: string, node: Node, part: number, task: TaskContext): Promise<string> {
    switch (node.do) {
      case 'step':
        return task.step(
          node.name,
          async ({ attempt, signal }) => {
            const end = witness.stepBegan(task.id, task.pass, part, node.name, attempt);
            try {
              const fails = attempt <= node.fails;
              if (node.ms > 0) await pause(fails ? Math.min(node.ms, 500) : node.ms, signal);
              if (fails) throw new Error(`Attempt ${attempt} fails.`);
              return node.value;
            } finally {
              end();
            }
          },
          { retry: { attempts, delay: '500ms' } },
        );
      case 'sleep': {
        const woke = witness.environment.sleeps(task.id, node.name, node.ms);
        await task.sleep(node.ms);
        woke();
        return 'sleep';
      }
      case 'poison':
        if (witness.environment.mayDie(task.id, node.name, node.deaths)) die();
        return 'poison';
      case 'ask': {
        const answer = await task.ask(node.key, { message: `${name} asks ${node.key}`, schema: Answer });
        return answer.action === 'accept' ? answer.content.answer : answer.action;
      }
      case 'event':
        witness.environment.awaitsEvent(task.id, name, node.name);
        return task.waitForEvent(node.name, { schema: z.string() });
      case 'until':
        return task.waitForCondition(
          node.name,
          () => witness.environment.poll(task.id, node.name) >= node.polls && node.name,
          {
            every: '2s',
          },
        );
      case 'subtask': {
        const subtask = await task.start(tool, { program: node.program as never });
        try {
          const { content, isError } = await subtask.result();
          const [first] = content as unknown as readonly { readonly text: string }[];
          return isError ? '(failed)' : `(${first!.text})`;
        } catch {
          return '(failed)';
        }
      }
      case 'all':
        return `[${(await Promise.all(node.parts.map((inner) => one(name, inner, part, task)))).join(' ')}]`;
      case 'report':
        task.progress(node.done, 100);
        return 'report';
      case 'throw':
        throw whatIsThrown(node.what);
    }
  }
  return tool;
}
