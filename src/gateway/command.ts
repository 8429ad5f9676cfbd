/** A program as a durable tool. What it writes is its progress; how it ended is its result. */
import { fromJsonSchema } from '@modelcontextprotocol/server';
import type { TaskContext } from '../engine/context.ts';
import { restAfter, retryPolicy } from '../engine/retry.ts';
import type { Schema } from '../engine/schema.ts';
import { type DurableTool, durableTool } from '../engine/tool.ts';
import type { ToolResult } from '../engine/tool-result.ts';
import { toMs } from '../model/duration.ts';
import { HoldfastError } from '../model/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../model/json.ts';
import { runtime } from '../model/runtime.ts';
import { type CommandConfig, placeholder } from './config.ts';
import { CallEnded, failureOfCall } from './endings.ts';
import { type Ended, OutputLog, type Program, type Programs } from './programs.ts';

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
        ? { type: 'again', afterMs: restAfter(retry, attempt) }
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

function programOf(name: string, config: CommandConfig, input: JsonObject): Program {
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
class ArgumentRefused extends HoldfastError {}

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
