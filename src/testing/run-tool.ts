/**
 * Runs a durable tool, resource or prompt in memory to test its handler, with given answers, a manual clock and
 * crashes.
 */

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
  /**
   * The answer to each question, by key, or a function that returns it. If it returns undefined, the question stays
   * open. A key without its suffix `~<number>` answers all questions with that key.
   */
  readonly answers?: Readonly<
    Record<string, InputResponse | ((request: InputRequest) => InputResponse | undefined)>
  >;
  /** The value that `task.waitForEvent(name)` returns, by name. */
  readonly events?: Readonly<Record<string, Json>>;
  /** The tools that the handler starts as subtasks. */
  readonly tools?: readonly DurableTool[];
  /** The clock of the run. `runTool` moves it to the next timer whenever the task only waits for time to pass. */
  readonly clock?: ManualClock;
  /**
   * If true, each pass ends after one more journal entry, as in a crash, so the handler is replayed up to each entry.
   */
  readonly crashAfterEveryEntry?: boolean;
}

export interface ToolRun<Result = ToolResult> {
  readonly outcome: Outcome;
  /** The result that the caller gets. Throws if the task failed, was cancelled or was lost. */
  readonly result: Result;
  /** How many times a worker ran the handler. */
  readonly passes: number;
  readonly task: Task;
}

/** The type of a tool's structured output is left open: a test asserts what it expects. */
type RunResult<Method extends RequestMethod> = ResultOf<Method, Schema>;

/**
 * Runs the tool until its task is done. Throws if the handler asks a question without an answer, waits for something
 * that the test does not provide, or starts asynchronous work outside its steps.
 */
export async function runTool<Input extends Schema | undefined, Method extends RequestMethod>(
  tool: DurableTool<Input, Schema | undefined, Method>,
  input: Input extends Schema ? InputOf<Input> : undefined,
  options: RunToolOptions = {},
): Promise<ToolRun<RunResult<Method>>> {
  const { answers = {}, events = {}, tools = [], clock = new ManualClock() } = options;
  const watch = watchForWorkOutsideSteps();
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
    const failure = Promise.withResolvers<never>();
    const outcome = tasks.outcome(id);
    store.subscribe(({ taskId, events }) => {
      if (events.some(({ type }) => type === 'asked')) answerAll(taskId).catch(failure.reject);
    });
    const answerAll = async (taskId: string) => {
      const task = await store.get(taskId);
      for (const { key, request } of task ? openInputs(task) : []) {
        const answer = answers[key] ?? answers[key.replace(/~\d+$/, '')];
        if (!answer)
          throw new HoldfastError(
            'UNANSWERED_QUESTION',
            `The handler asked "${key}", but the test has no answer for it: add one to \`answers\`.`,
          );
        const response = typeof answer === 'function' ? answer(request) : answer;
        if (response) await tasks.answer(taskId, { [key]: response });
      }
    };
    const jumping = jumpAhead(store, id, clock, worker, outcome);
    const done = await Promise.race([outcome, failure.promise, jumping]);
    const found = watch.found();
    if (found.length > 0)
      throw new HandlerRefused(
        `The handler of ${tool.name} starts asynchronous work outside its steps: ${found.join('; ')}. It could not be replayed after a crash: move it into a step.`,
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
    watch.stop();
    await worker.stop();
    // After a failed run, `outcome` is still pending, which would keep the process alive: closing ends that wait.
    await tasks.close();
    await database.close();
  }
}

/**
 * Whenever the worker is idle and the tree only waits for a timer, moves the clock to the next timer. Throws if the
 * tree waits for something else. Never resolves.
 */
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
  // `idle` counts polls, about a millisecond each, at which the worker was idle.
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
        'The task waits for an answer or event that the test does not provide: add it to `answers` or `events`.',
      );
    if (next !== Infinity && next > clock.now()) clock.jump(next - clock.now());
  }
  return new Promise(() => {});
}

function resultOf(outcome: Outcome): unknown {
  if (outcome.kind === 'result') return outcome.value;
  throw new HoldfastError('NO_RESULT', `The task has no result. Its outcome is ${JSON.stringify(outcome)}.`);
}
