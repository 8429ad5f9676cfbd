/** Runs programs as durable tools. The number of output lines is the progress, and the exit becomes the result. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fromJsonSchema } from '@modelcontextprotocol/server';
import { inheritedEnvironment } from '../../client/transports/stdio.ts';
import type { TaskContext } from '../../engine/handlers/context.ts';
import type { Schema } from '../../engine/handlers/schema.ts';
import { type DurableTool, durableTool } from '../../engine/handlers/tool.ts';
import type { ToolResult } from '../../engine/handlers/tool-result.ts';
import { delayAfter, retryPolicy } from '../../engine/replay/step-retry.ts';
import { toMs } from '../../model/duration.ts';
import { HoldfastError } from '../../model/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../model/json.ts';
import { after } from '../../runtime/clock.ts';
import { pause, runtime, type Timer } from '../../runtime/runtime.ts';
import { type CommandConfig, placeholder } from '../config/config.ts';
import { CallEnded, failureOfCall } from '../upstream/call-outcome.ts';

const outputSchema = {
  type: 'object',
  properties: {
    exitCode: { type: ['integer', 'null'], description: 'null if a signal ended the program' },
    signal: { type: ['string', 'null'] },
    timedOut: { type: 'boolean' },
    output: {
      type: 'string',
      description: 'standard output and standard error, in order of arrival',
    },
    omittedBytes: { type: 'integer', description: 'number of bytes of output that are left out' },
    durationMs: { type: 'integer' },
  },
  required: ['exitCode', 'signal', 'timedOut', 'output', 'omittedBytes', 'durationMs'],
};

/** The result of the last attempt. `durationMs` does not include earlier attempts. */
type Report = Exit & { readonly output: string; readonly omittedBytes: number; readonly durationMs: number };

/** The outcome of one attempt. It is recorded in the journal as the value of the step. */
type Event =
  | { readonly type: 'ended'; readonly report: Report }
  /** The program failed. Run it again after this time. */
  | { readonly type: 'again'; readonly afterMs: number }
  /** The program could not be started. */
  | { readonly type: 'refused'; readonly why: string }
  /** An earlier pass may have run the program, which is not safe to repeat. */
  | { readonly type: 'lost' };

export function commandTool(name: string, config: CommandConfig, programs: Programs): DurableTool {
  const { title, description, annotations, policy } = config;
  // `run` does the retries itself: the engine only retries steps that throw.
  const { retry: _, ...terms } = policy;
  const tool = durableTool(
    name,
    {
      ...terms,
      ...(title !== undefined && { title }),
      ...(description !== undefined && { description }),
      ...(annotations && { annotations }),
      inputSchema: fromJsonSchema(config.inputSchema) as unknown as Schema<JsonObject>,
      outputSchema: fromJsonSchema(outputSchema) as unknown as Schema<Report>,
    },
    (input: JsonObject, task) => run(name, config, programs, input, task),
  );
  return { ...tool, failure: failureOfCall };
}

async function run(
  name: string,
  config: CommandConfig,
  programs: Programs,
  input: JsonObject,
  task: TaskContext,
): Promise<ToolResult<Report>> {
  const retry = retryPolicy(config.policy.retry);
  const runOnce = async (signal: AbortSignal): Promise<Event> => {
    const startedAt = runtime.now();
    const log = new OutputLog(config.maxOutputSize);
    const report = runtime.setInterval(() => {
      if (log.lines > 0) task.progress(log.lines, undefined, log.lastLine);
    }, 100);
    try {
      const exit = await programs.run(programOf(name, config, input), task.id, log, signal);
      task.progress(log.lines, undefined, log.lastLine);
      return { type: 'ended', report: { ...exit, ...log.end(), durationMs: runtime.now() - startedAt } };
    } catch (error) {
      return { type: 'refused', why: `Could not run "${name}": ${(error as Error).message}` };
    } finally {
      runtime.clearInterval(report);
    }
  };
  for (let attempt = 1; ; attempt++) {
    const event = await task.step('run', async ({ signal }): Promise<Event> => {
      // A program that an earlier pass started may still be running.
      if (task.pass > 1) await programs.endOrphans(task.id, toMs(config.killAfter));
      if (task.pass > 1 && !config.policy.idempotent) return { type: 'lost' };
      const event = await runOnce(signal);
      const hasFailed = event.type === 'ended' && event.report.exitCode !== 0;
      return hasFailed && attempt < retry.attempts
        ? { type: 'again', afterMs: delayAfter(retry, attempt) }
        : event;
    });
    switch (event.type) {
      case 'ended':
        return resultOf(event.report);
      case 'refused':
        throw new Error(event.why);
      case 'lost':
        throw new CallEnded({
          kind: 'lost',
          message: `The gateway stopped while "${name}" was running. The command may have run in part.`,
        });
      case 'again':
        await task.sleep(event.afterMs);
    }
  }
}

type Program = ReturnType<typeof programOf>;

function programOf(name: string, config: CommandConfig, input: JsonObject) {
  const { command, shell, env, cwd, timeout, killAfter } = config;
  const args = argumentsFrom(config.args, input);
  const stdin = config.stdin === undefined ? undefined : (fill(config.stdin, input) ?? '');
  return {
    // A shell gets the script from the config, and the arguments separately as $1, $2 and so on.
    ...(shell ? { command: '/bin/sh', args: ['-c', command, name, ...args] } : { command, args }),
    env,
    ...(stdin !== undefined && { stdin }),
    ...(cwd !== undefined && { cwd }),
    ...(timeout !== undefined && { timeoutMs: toMs(timeout) }),
    killAfterMs: toMs(killAfter),
  };
}

function resultOf(report: Report): ToolResult<Report> {
  const { exitCode, signal, timedOut, output } = report;
  const isError = exitCode !== 0;
  const how = timedOut
    ? 'It timed out and was stopped.'
    : signal !== null
      ? `It was stopped by ${signal}.`
      : `It exited with code ${exitCode}.`;
  return {
    content: [{ type: 'text', text: isError || output === '' ? `${output}${output && '\n'}${how}` : output }],
    structuredContent: report,
    ...(isError && { isError }),
  };
}

// --- Arguments of a program --------------------------------------------------------------------------------

/** An input that cannot be passed to a program. */
class ArgumentRefused extends HoldfastError {
  constructor(message: string) {
    super('ARGUMENT_REFUSED', message);
  }
}

/** The limit of Linux for one argument, in bytes. Other systems do not allow much more. */
const maxArgumentSize = 131_071;

/**
 * Each template gives one argument. A template that is only a placeholder for an array gives one for each element, and
 * a template with a missing input gives none.
 */
function argumentsFrom(templates: readonly string[], input: JsonObject): string[] {
  return templates.flatMap((template) => {
    const whole = /^\{(\w+)\}$/.exec(template)?.[1];
    const value = whole === undefined ? undefined : input[whole];
    if (Array.isArray(value)) return value.map((element) => checked(whole!, textOf(element)));
    const filled = fill(template, input);
    return filled === undefined ? [] : [checked(template, filled)];
  });
}

/** Fills in the placeholders. Undefined if an input is missing or null. */
function fill(text: string, input: JsonObject): string | undefined {
  let isComplete = true;
  const filled = text.replace(placeholder, (_, literal: string | undefined, name: string) => {
    if (literal !== undefined) return `{${literal}}`;
    const value = Object.hasOwn(input, name) ? input[name] : undefined;
    if (value === undefined || value === null) isComplete = false;
    return textOf(value);
  });
  return isComplete ? filled : undefined;
}

function textOf(value: Json | undefined): string {
  if (typeof value === 'string') return value;
  return isJsonObject(value) || Array.isArray(value) ? JSON.stringify(value) : String(value);
}

function checked(what: string, argument: string): string {
  if (argument.includes('\0'))
    throw new ArgumentRefused(
      `"${what}" contains a NUL character, which is not allowed in an argument of a program.`,
    );
  const bytes = Buffer.byteLength(argument);
  if (bytes > maxArgumentSize)
    throw new ArgumentRefused(
      `"${what}" has ${bytes} bytes, but an argument of a program can have at most ${maxArgumentSize}. Pass long input on standard input: see "stdin" in the config.`,
    );
  return argument;
}

// --- Programs ----------------------------------------------------------------------------------------------

interface Exit {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
}

/** Set in the environment of every program, to find programs that outlive a killed gateway. */
const taskVariable = 'HOLDFAST_TASK';
/** Time to read the rest of the output after the exit: other processes may hold it open. */
const outputGraceMs = 500;
/** How often to check whether a group has disappeared. */
const pollMs = 20;
/** How long to wait for a group to disappear after SIGKILL. */
const killTimeoutMs = 5_000;

/**
 * Programs that run for tasks, each in a process group of its own. Stopping a program stops the whole group: first
 * SIGTERM, then SIGKILL. The group is gone only when none of its processes is left.
 */
export class Programs {
  readonly #environment: Readonly<Record<string, string>>;
  /** The groups that are being stopped. */
  readonly #ending = new Set<Promise<void>>();

  /** `environment` is the part of this process's environment that every program inherits. */
  constructor(environment = inheritedEnvironment()) {
    this.#environment = environment;
  }

  /** Resolves when the program has exited. Aborting the signal stops its whole group. */
  async run(program: Program, taskId: string, log: OutputLog, signal: AbortSignal): Promise<Exit> {
    const child = spawn(program.command, [...program.args], {
      detached: true,
      env: { ...this.#environment, ...program.env, [taskVariable]: taskId },
      stdio: [program.stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      ...(program.cwd !== undefined && { cwd: program.cwd }),
    });
    child.stdout?.on('data', (chunk: Buffer) => log.write(chunk));
    child.stderr?.on('data', (chunk: Buffer) => log.write(chunk));
    // A program may exit before it has read all of its input.
    child.stdin?.on('error', () => {}).end(program.stdin);
    const end = () => this.#end(child, program.killAfterMs);
    let timedOut = false;
    const onTimeout = () => {
      timedOut = true;
      end();
    };
    const cancelTimer = program.timeoutMs === undefined ? undefined : after(program.timeoutMs, onTimeout);
    if (signal.aborted) end();
    signal.addEventListener('abort', end, { once: true });
    try {
      return { ...(await exitOf(child)), timedOut };
    } finally {
      cancelTimer?.();
      signal.removeEventListener('abort', end);
      if (timedOut) await Promise.all(this.#ending);
    }
  }

  /** Resolves when all groups that were stopped are gone. */
  async close(): Promise<void> {
    await Promise.all(this.#ending);
  }

  /** Stops what a killed gateway has left running for a task. */
  async endOrphans(taskId: string, killAfterMs: number): Promise<void> {
    await Promise.all([...groupsOf(taskId)].map((group) => endGroup(group, killAfterMs)));
  }

  #end({ pid }: ChildProcess, killAfterMs: number): void {
    if (pid === undefined) return;
    const ending = endGroup(pid, killAfterMs).finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }
}

/** Resolves when the program has exited and its output was read, or `outputGraceMs` after the exit. */
function exitOf(child: ChildProcess): Promise<Omit<Exit, 'timedOut'>> {
  return new Promise((resolve, reject) => {
    let outputTimer: Timer | undefined;
    child.once('error', reject);
    child.once('exit', () => {
      outputTimer = runtime.setTimeout(() => {
        child.stdout?.destroy();
        child.stderr?.destroy();
      }, outputGraceMs);
    });
    child.once('close', (exitCode, signal) => {
      runtime.clearTimeout(outputTimer);
      resolve({ exitCode, signal });
    });
  });
}

/** SIGTERM, then SIGKILL. Resolves when the group is gone, or `killTimeoutMs` after the first SIGKILL. */
async function endGroup(group: number, killAfterMs: number): Promise<void> {
  if (!signalGroup(group, 'SIGTERM')) return;
  for (const startedAt = runtime.now(); runtime.now() - startedAt < killAfterMs; await pause(pollMs))
    if (!signalGroup(group, 0)) return;
  for (const startedAt = runtime.now(); runtime.now() - startedAt < killTimeoutMs; await pause(pollMs))
    if (!signalGroup(group, 'SIGKILL')) return;
}

/** Sends a signal; 0 only checks that the group exists. False if no process of the group is left. */
function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal);
  } catch {
    return false;
  }
}

/** Finds process groups by their environment. Only systems with `/proc` show it; elsewhere none are found. */
function groupsOf(taskId: string): Set<number> {
  const groups = new Set<number>();
  const pids = existsSync('/proc') ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : [];
  for (const pid of pids)
    try {
      if (!readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`${taskVariable}=${taskId}`))
        continue;
      // The fields after the name, which may contain spaces and brackets: state, parent, group.
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const group = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]);
      if (group > 1) groups.add(group);
    } catch {
      // The process has exited, or belongs to another user.
    }
  return groups;
}

// --- Output ------------------------------------------------------------------------------------------------

/** The output of a program, up to a limit: the beginning, the end, and the number of bytes left out in between. */
export class OutputLog {
  readonly #limit: number;
  readonly #head: Buffer[] = [];
  #headSize = 0;
  #tail = Buffer.alloc(0);
  #written = 0;
  /** The number of line breaks so far. */
  lines = 0;
  /** The last non-empty line. It may be incomplete. */
  lastLine = '';

  /** `limit` is in bytes: half of it for the beginning, and half for the end. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  write(chunk: Buffer): void {
    this.#written += chunk.length;
    const room = Math.ceil(this.#limit / 2) - this.#headSize;
    const first = chunk.subarray(0, Math.max(0, room));
    if (first.length > 0) this.#head.push(first);
    this.#headSize += first.length;
    const tail = Buffer.concat([this.#tail, chunk.subarray(first.length)]);
    this.#tail = Buffer.from(tail.subarray(Math.max(0, tail.length - Math.floor(this.#limit / 2))));
    for (const byte of chunk) if (byte === 10) this.lines++;
    const line = chunk.toString().trimEnd().split('\n').at(-1)?.trim();
    if (line) this.lastLine = line.slice(0, 200);
  }

  end(): { readonly output: string; readonly omittedBytes: number } {
    const head = Buffer.concat(this.#head);
    const omittedBytes = this.#written - head.length - this.#tail.length;
    const gap = omittedBytes > 0 ? `\n… ${omittedBytes} bytes left out …\n` : '';
    return { output: Buffer.concat([head, Buffer.from(gap), this.#tail]).toString(), omittedBytes };
  }
}
