/** Runs a durable tool, resource or prompt in memory, as a test of a handler wants it: with answers, a clock that jumps, and crashes. */

import type { InputOf, Schema } from '../engine/handlers/schema.ts';
import type { DurableTool, RequestMethod, ResultOf } from '../engine/handlers/tool.ts';
import type { ToolResult } from '../engine/handlers/tool-result.ts';
import { HandlerRefused } from '../engine/replay/comparison.ts';
import { createTasks } from '../engine/tasks.ts';
import { workerDefaults } from '../engine/worker/settings.ts';
import { Worker } from '../engine/worker/worker.ts';
import { HoldfastError } from '../model/errors.ts';
import type { InputRequest, InputResponse } from '../model/input.ts';
import type { Json } from '../model/json.ts';
import type { Outcome } from '../model/outcome.ts';
import { openInputs, type Task } from '../model/task.ts';
import type { Store } from '../ports/store.ts';
import { pause } from '../runtime/runtime.ts';
import { openSqlite } from '../stores/sqlite/open.ts';
import { ManualClock } from './manual-clock.ts';
import { watchForWorkOutsideSteps } from './work-outside-steps.ts';

export interface RunToolOptions {
  /** The answer to each question, by its key, or how to find it; a function that finds none leaves it open. */
  readonly answers?: Readonly<
    Record<string, InputResponse | ((request: InputRequest) => InputResponse | undefined)>
  >;
  /** Values for `task.event(name)`. */
  readonly events?: Readonly<Record<string, Json>>;
  /** What the handler starts as subtasks. */
  readonly tools?: readonly DurableTool[];
  /** Jumps ahead whenever there is nothing to do but wait. */
  readonly clock?: ManualClock;
  /** Ends the pass after every journal entry, so that everything behind it is replayed. */
  readonly crashAfterEveryEntry?: boolean;
}

export interface ToolRun<Result = ToolResult> {
  readonly outcome: Outcome;
  /** What the caller gets; throws if there is none, because the task failed, was cancelled or was lost. */
  readonly result: Result;
  readonly passes: number;
  readonly task: Task;
}

/** Of a tool the structured output is left open: a test says what it expects. */
type RunResult<Method extends RequestMethod> = ResultOf<Method, Schema>;

export async function runTool<Input extends Schema | undefined, Method extends RequestMethod>(
  tool: DurableTool<Input, Schema | undefined, Method>,
  input: Input extends Schema ? InputOf<Input> : undefined,
  options: RunToolOptions = {},
): Promise<ToolRun<RunResult<Method>>> {
  const { answers = {}, events = {}, tools = [], clock = new ManualClock() } = options;
  const strays = watchForWorkOutsideSteps();
  const database = await openSqlite('memory:', { clock });
  const { store } = database;
  const all = [tool as DurableTool, ...tools];
  const tasks = createTasks({ store: database, tools: all, clock });
  const worker = new Worker(database, clock, all, {
    ...workerDefaults,
    lingerMs: 0,
    interruptAfterEveryEntry: options.crashAfterEveryEntry ?? false,
  });
  try {
    const { id } = await tasks.create(tool as DurableTool, input);
    for (const [name, value] of Object.entries(events)) await tasks.sendEvent(id, name, value);
    const trouble = Promise.withResolvers<never>();
    const outcome = tasks.outcome(id);
    store.subscribe(({ taskId, events }) => {
      if (events.some(({ type }) => type === 'asked')) answerAll(taskId).catch(trouble.reject);
    });
    const answerAll = async (taskId: string) => {
      const task = await store.get(taskId);
      for (const { key, request } of task ? openInputs(task) : []) {
        const given = answers[key] ?? answers[key.replace(/~\d+$/, '')];
        if (!given)
          throw new HoldfastError(
            'UNANSWERED_QUESTION',
            `The handler asked "${key}", and the test gives no answer to it.`,
          );
        const response = typeof given === 'function' ? given(request) : given;
        if (response) await tasks.answer(taskId, { [key]: response });
      }
    };
    const jumping = jumpAhead(store, id, clock, worker, outcome);
    const done = await Promise.race([outcome, trouble.promise, jumping]);
    const found = strays.found();
    if (found.length > 0)
      throw new HandlerRefused(
        `The handler of ${tool.name} starts something outside its steps that it may wait for: ${found.join('; ')}. After a crash this could not be repeated: put it into a step.`,
      );
    const task = (await store.get(id))!;
    return {
      outcome: done,
      task,
      passes: task.epoch,
      get result() {
        return resultOf(done) as RunResult<Method>;
      },
    };
  } finally {
    strays.stop();
    await worker.stop();
    // A run that went wrong still waits for an outcome, and would hold its process: closing ends that wait.
    await tasks.close();
    await database.close();
  }
}

/** Whenever the worker is idle and the tree only waits for the clock, moves the clock to the next moment of it. */
async function jumpAhead(
  store: Store,
  id: string,
  clock: ManualClock,
  worker: Worker,
  outcome: Promise<unknown>,
): Promise<never> {
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  outcome.then(end, end);
  for (let idle = 0; !isOver; ) {
    await pause(1);
    idle = worker.isIdle ? idle + 1 : 0;
    if (idle < 5) continue;
    const found = await store.family(id);
    const live = found ? [found.task, ...found.descendants].filter((task) => task.phase !== 'done') : [];
    const next = Math.min(
      ...live.map((task) => ('wakeAt' in task && task.wakeAt !== null ? task.wakeAt : Infinity)),
    );
    if (next === Infinity && live.length > 0 && idle > 50)
      throw new HoldfastError(
        'NOTHING_LEFT_TO_WAIT_FOR',
        'The task waits for something that will never come: give the test its answers and events.',
      );
    if (next !== Infinity && next > clock.now()) clock.jump(next - clock.now());
  }
  return new Promise(() => {});
}

function resultOf(outcome: Outcome): unknown {
  if (outcome.kind === 'result') return outcome.value;
  throw new HoldfastError('NO_RESULT', `The task gave no result: it ended as ${JSON.stringify(outcome)}.`);
}
