/** Programs as durable tools. What a program writes is its progress; how it ended is its result. */
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
    exitCode: { type: ['integer', 'null'], description: 'null if a signal ended it' },
    signal: { type: ['string', 'null'] },
    timedOut: { type: 'boolean' },
    output: {
      type: 'string',
      description: 'standard output and standard error, in the order in which they came',
    },
    omittedBytes: { type: 'integer', description: 'how much of the output is left out' },
    durationMs: { type: 'integer' },
  },
  required: ['exitCode', 'signal', 'timedOut', 'output', 'omittedBytes', 'durationMs'],
};

type Report = Ended & { readonly output: string; readonly omittedBytes: number; readonly durationMs: number };

type Event =
  | { readonly type: 'ended'; readonly report: Report }
  | { readonly type: 'again'; readonly afterMs: number }
  | { readonly type: 'refused'; readonly why: string }
  | { readonly type: 'lost' };

export function commandTool(name: string, config: CommandConfig, programs: Programs): DurableTool {
  const { title, description, annotations, policy } = config;
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
  const once = async (signal: AbortSignal): Promise<Event> => {
    const from = runtime.now();
    const log = new OutputLog(config.largestOutput);
    const report = runtime.setInterval(() => {
      if (log.lines > 0) task.progress(log.lines, undefined, log.lastLine);
    }, 100);
    try {
      const ended = await programs.run(programOf(name, config, input), task.id, log, signal);
      task.progress(log.lines, undefined, log.lastLine);
      return { type: 'ended', report: { ...ended, ...log.end(), durationMs: runtime.now() - from } };
    } catch (error) {
      return { type: 'refused', why: `"${name}" was not run: ${(error as Error).message}` };
    } finally {
      runtime.clearInterval(report);
    }
  };
  for (let attempt = 1; ; attempt++) {
    const event = await task.step('run', async ({ signal }): Promise<Event> => {
      // A later pass does not know how far an earlier one came.
      if (task.pass > 1) await programs.endOrphans(task.id, toMs(config.killAfter));
      if (task.pass > 1 && !config.policy.idempotent) return { type: 'lost' };
      const event = await once(signal);
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
          message: `The gateway ended while "${name}" was running. What it had done by then is not known.`,
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
    // A shell is given the script of the config and, apart from it, the arguments as $1, $2 and so on.
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
    ? 'It took too long and was ended.'
    : signal !== null
      ? `It was ended by ${signal}.`
      : `It ended with exit code ${exitCode}.`;
  return {
    content: [{ type: 'text', text: isError || output === '' ? `${output}${output && '\n'}${how}` : output }],
    structuredContent: report,
    ...(isError && { isError }),
  };
}

// --- Arguments of a program --------------------------------------------------------------------------------

/** An input that no program can be given. */
class ArgumentRefused extends HoldfastError {
  constructor(message: string) {
    super('ARGUMENT_REFUSED', message);
  }
}

/** Linux takes no longer word, and no other system takes much more. */
const longestArgument = 131_071;

/** One word for each text; a list that is all of a text becomes as many words; what was not given leaves its text out. */
function argumentsFrom(texts: readonly string[], input: JsonObject): string[] {
  return texts.flatMap((text) => {
    const whole = /^\{(\w+)\}$/.exec(text)?.[1];
    const value = whole === undefined ? undefined : input[whole];
    if (Array.isArray(value)) return value.map((one) => checked(whole!, written(one)));
    const filled = fill(text, input);
    return filled === undefined ? [] : [checked(text, filled)];
  });
}

/** A text with its placeholders filled in; undefined if one of them was not given. */
function fill(text: string, input: JsonObject): string | undefined {
  let isComplete = true;
  const filled = text.replace(placeholder, (_, literal: string | undefined, name: string) => {
    if (literal !== undefined) return `{${literal}}`;
    const value = Object.hasOwn(input, name) ? input[name] : undefined;
    if (value === undefined || value === null) isComplete = false;
    return written(value);
  });
  return isComplete ? filled : undefined;
}

function written(value: Json | undefined): string {
  if (typeof value === 'string') return value;
  return isJsonObject(value) || Array.isArray(value) ? JSON.stringify(value) : String(value);
}

function checked(what: string, word: string): string {
  if (word.includes('\0'))
    throw new ArgumentRefused(
      `"${what}" has a NUL character in it, which no argument of a program can carry.`,
    );
  const bytes = Buffer.byteLength(word);
  if (bytes > longestArgument)
    throw new ArgumentRefused(
      `"${what}" has ${bytes} bytes, and an argument of a program may have ${longestArgument}. What is long is given to standard input: see "stdin" in the config.`,
    );
  return word;
}

// --- Programs ----------------------------------------------------------------------------------------------

interface Ended {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
}

/** In the environment of every program, so that those that outlived a killed gateway are found. */
const mark = 'HOLDFAST_TASK';
/** After a program has ended, others may hold its output open. */
const lastWordsMs = 500;
const lookEveryMs = 20;
/** How long what was killed may take to be gone. */
const goneWithinMs = 5_000;

/**
 * Programs that run for tasks, each in a process group of its own. Whoever ends one ends the whole group, first asking
 * and then by force, and the group is over only when no process of it is left.
 */
export class Programs {
  readonly #environment: Readonly<Record<string, string>>;
  readonly #ending = new Set<Promise<void>>();

  /** With what every program sees of the environment of this process. */
  constructor(environment = inheritedEnvironment()) {
    this.#environment = environment;
  }

  /** Resolves when the program has ended; when the signal fires its whole group is ended. */
  async run(program: Program, taskId: string, log: OutputLog, signal: AbortSignal): Promise<Ended> {
    const child = spawn(program.command, [...program.args], {
      detached: true,
      env: { ...this.#environment, ...program.env, [mark]: taskId },
      stdio: [program.stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      ...(program.cwd !== undefined && { cwd: program.cwd }),
    });
    child.stdout?.on('data', (chunk: Buffer) => log.write(chunk));
    child.stderr?.on('data', (chunk: Buffer) => log.write(chunk));
    // A program that does not read all of its input is not to blame for that.
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
      return { ...(await ended(child)), timedOut };
    } finally {
      cancelTimer?.();
      signal.removeEventListener('abort', end);
      if (timedOut) await Promise.all(this.#ending);
    }
  }

  /** Resolves when nothing is left of the programs that were told to end. */
  async close(): Promise<void> {
    await Promise.all(this.#ending);
  }

  /** Ends what a gateway that was killed has left running for a task. */
  async endOrphans(taskId: string, killAfterMs: number): Promise<void> {
    await Promise.all([...groupsOf(taskId)].map((group) => endGroup(group, killAfterMs)));
  }

  #end({ pid }: ChildProcess, killAfterMs: number): void {
    if (pid === undefined) return;
    const ending = endGroup(pid, killAfterMs).finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }
}

function ended(child: ChildProcess): Promise<Omit<Ended, 'timedOut'>> {
  return new Promise((resolve, reject) => {
    let lastWords: Timer | undefined;
    child.once('error', reject);
    child.once('exit', () => {
      lastWords = runtime.setTimeout(() => {
        child.stdout?.destroy();
        child.stderr?.destroy();
      }, lastWordsMs);
    });
    child.once('close', (exitCode, signal) => {
      runtime.clearTimeout(lastWords);
      resolve({ exitCode, signal });
    });
  });
}

async function endGroup(group: number, killAfterMs: number): Promise<void> {
  if (!signalGroup(group, 'SIGTERM')) return;
  for (const from = runtime.now(); runtime.now() - from < killAfterMs; await pause(lookEveryMs))
    if (!signalGroup(group, 0)) return;
  for (const from = runtime.now(); runtime.now() - from < goneWithinMs; await pause(lookEveryMs))
    if (!signalGroup(group, 'SIGKILL')) return;
}

/** False if there is nobody left to hear it. */
function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal);
  } catch {
    return false;
  }
}

/** Where the system shows what processes were started with; elsewhere they are not found. */
function groupsOf(taskId: string): Set<number> {
  const groups = new Set<number>();
  const pids = existsSync('/proc') ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : [];
  for (const pid of pids)
    try {
      if (!readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`${mark}=${taskId}`)) continue;
      // After the name, which may have spaces and brackets in it: state, parent, group.
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const group = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]);
      if (group > 1) groups.add(group);
    } catch {
      // It ended meanwhile, or is another user's.
    }
  return groups;
}

// --- Output ------------------------------------------------------------------------------------------------

/** What a program wrote, up to a limit: the beginning and the end are kept, and how much is missing in between. */
export class OutputLog {
  readonly #limit: number;
  readonly #head: Buffer[] = [];
  #headSize = 0;
  #tail = Buffer.alloc(0);
  #written = 0;
  lines = 0;
  /** The last line that is not empty, as far as it was written. */
  lastLine = '';

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
