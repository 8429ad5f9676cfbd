/** `holdfast demo`: durable tools to try on a server of their own, and a client for them. */
import { resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { newId } from '../model/id.ts';
import { abortAfter, pause } from '../model/runtime.ts';
import { clean } from './live/terminal-text.ts';
import { portFrom } from './serving.ts';
import {
  CommandFailed,
  defaultPort,
  howToRun,
  readArguments,
  readJson,
  urlOption,
  version,
  WrongUsage,
} from './usage.ts';

const help = `Serves a few durable tools over MCP on this machine, with a dashboard that shows their tasks.

Usage: holdfast demo [--port N] [--data DIR]
       holdfast demo call TOOL [JSON]    call one of them; see holdfast demo call --help

  --port N       the port on 127.0.0.1, 0 for any (default: PORT of the environment, or ${defaultPort})
  --data DIR     where tasks are kept (default .holdfast)
  -h, --help     say this`;

export async function demo(args: readonly string[]): Promise<number> {
  const isCall = args[0] === 'call';
  try {
    return await (isCall ? call(args.slice(1)) : start(args));
  } catch (error) {
    if (error instanceof WrongUsage) error.help = howToRun(...(isCall ? ['call'] : []), '--help');
    throw error;
  }
}

async function start(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, help, {
    port: { type: 'string' },
    data: { type: 'string' },
  });
  if (positionals.length > 0) throw new WrongUsage(`the demo takes no "${positionals[0]}"`);
  const port = portFrom(values.port ?? (process.env.PORT || String(defaultPort)));
  const { serveDemo } = await import('./demo/serve.ts');
  await serveDemo(port, process.cwd(), resolve(values.data ?? '.holdfast'));
  return 0;
}

// --- `holdfast demo call`: on plain fetch, as 2026-07-28 wants it -------------------------------------------

const callHelp = `Calls a tool of the demo, shows its progress, asks what it asks, and prints its result.

Usage: holdfast demo call TOOL [JSON]
       holdfast demo call --resume TASK

  --answer JSON  answers whatever is asked, such as '{"write": true}'; null declines
  --resume TASK  come back to a task
  --url URL      the server (default http://127.0.0.1:${defaultPort}/mcp, or the port in PORT)
  -h, --help     say this`;

// biome-ignore lint/suspicious/noExplicitAny: what a server says is printed, not relied on.
type Said = any;

const revision = '2026-07-28';
const meta = {
  'io.modelcontextprotocol/protocolVersion': revision,
  'io.modelcontextprotocol/clientInfo': { name: 'holdfast-demo', version: version() },
  'io.modelcontextprotocol/clientCapabilities': {
    elicitation: { form: {} },
    extensions: { 'io.modelcontextprotocol/tasks': {} },
  },
};

async function call(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, callHelp, {
    answer: { type: 'string' },
    resume: { type: 'string' },
    url: { type: 'string' },
  });
  const [name = values.resume, input = '{}', ...rest] = positionals;
  if (!name || !/^[\w./-]{1,128}$/.test(name) || rest.length > 0 || (values.resume && positionals.length > 0))
    throw new WrongUsage('a call takes the name of a tool and one JSON object, or --resume and a task');
  const url = values.url ?? `http://127.0.0.1:${process.env.PORT || defaultPort}/mcp`;
  if (!URL.canParse(url)) throw new WrongUsage(`"${url}" is no URL`);
  const answer = values.answer === undefined ? undefined : readJson(values.answer, '--answer');
  try {
    if (values.resume) return await follow(url, values.resume, answer);
    const made = await begin(url, { name, arguments: readJson(input, 'the input') });
    if (made.resultType !== 'task') return finish({ status: 'completed', result: made });
    return await follow(url, made.taskId, answer, `task ${made.taskId}`);
  } finally {
    endProgress();
  }
}

async function follow(url: string, taskId: string, answer: Said, greeting?: string): Promise<number> {
  const back = howToRun('call', '--resume', taskId, ...urlOption(url));
  const detach = () => {
    say(`Detached: the task goes on. Come back with: ${back}`);
    process.exit(0);
  };
  process.on('SIGINT', detach);
  // The user may press Ctrl-C as soon as the id appears.
  if (greeting) say(greeting);
  // At first the tool has not said yet how often it wants to be asked.
  for (let wait = 300; ; ) {
    await pause(wait);
    const task = await persist(url, 'tasks/get', { taskId });
    showProgress(task);
    if (task.status === 'input_required') {
      const inputResponses: Record<string, unknown> = {};
      for (const [key, { params }] of Object.entries<Said>(task.inputRequests))
        inputResponses[key] = await answerTo(params, answer, detach, back);
      await persist(url, 'tasks/update', { taskId, inputResponses });
    } else if (task.status !== 'working') return finish(task);
    wait = task.pollIntervalMs ?? 1_000;
  }
}

/** The server may be gone for a while. A task is not. */
class Away extends Error {}

/** The key makes it safe to send the call again if the server dies before it answers. */
async function begin(url: string, params: Record<string, unknown>): Promise<Said> {
  const once = { ...params, _meta: { ...meta, 'dev.holdfast/idempotency-key': newId() } };
  return request(url, 'tools/call', once).catch((error) => {
    if (!(error instanceof Away)) throw error;
    const { code } = (error.cause ?? {}) as Said;
    if (code === 'ECONNRESET' || code === 'UND_ERR_SOCKET') return persist(url, 'tools/call', once);
    throw new CommandFailed(`There is no server at ${url}: start it with \`${howToRun()}\`.`);
  });
}

async function persist(url: string, method: string, params: Record<string, unknown>): Promise<Said> {
  for (let isAway = false; ; isAway = true) {
    try {
      const result = await request(url, method, params);
      if (isAway) say('The server is back.');
      return result;
    } catch (error) {
      if (!(error instanceof Away)) throw error;
      if (!isAway) say('The server is away; waiting.');
      await pause(500);
    }
  }
}

async function request(url: string, method: string, params: Record<string, unknown>): Promise<Said> {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': revision,
    'mcp-method': method,
    'mcp-name': String(params.name ?? params.taskId),
  };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { _meta: meta, ...params } });
  const options = { method: 'POST', headers, body, signal: abortAfter(30_000) };
  const away = ({ cause }: Error) => Promise.reject(new Away('', { cause }));
  const response = await fetch(url, options).catch(away);
  const text = await response.text().catch(away);
  if (response.status >= 502) throw new Away();
  const message = [...text.matchAll(/^(?:data: ?)?(\{.*\})\r?$/gm)].at(-1)?.[1];
  if (message === undefined) throw new CommandFailed(`What answers at ${url} is no MCP server.`);
  const { result, error } = JSON.parse(message);
  if (error) throw new CommandFailed(clean(error.message));
  return result;
}

const isTerminal = process.stdout.isTTY === true && process.env.TERM !== 'dumb';
let shown = '';

function endProgress(): void {
  if (isTerminal && shown !== '') process.stdout.write('\n');
  if (isTerminal) shown = '';
}

function say(text: string): void {
  endProgress();
  console.log(text);
}

function showProgress(task: Said): void {
  const { progress: done, total, message } = task._meta?.['dev.holdfast/progress'] ?? {};
  const words = `${done}${total ? ` of ${total}` : ''}${message ? `: ${clean(message)}` : ''}`;
  if (done === undefined || words === shown) return;
  const full = total ? Math.round((Math.min(done, total) / total) * 24) : 0;
  const bar = `${'█'.repeat(full)}${'░'.repeat(24 - full)} ${words}`;
  if (!isTerminal) console.log(words);
  else process.stdout.write(`\r\x1b[2K${bar.slice(0, (process.stdout.columns || 80) - 1)}`);
  shown = words;
}

function finish({ status, result, error, statusMessage }: Said): number {
  const text = (result?.content ?? []).flatMap((part: Said) => part.text ?? []).join('\n');
  const words = clean(text || (error?.message ?? statusMessage ?? `The task is ${status}.`));
  if (status !== 'completed' || result?.isError) throw new CommandFailed(words);
  say(words);
  return 0;
}

async function answerTo(params: Said, given: Said, detach: () => void, back: string): Promise<unknown> {
  if (given === null) return { action: 'decline' };
  if (given !== undefined) return { action: 'accept', content: given };
  say(clean(params.message));
  const { properties = {}, required = [] } = params.requestedSchema;
  const form = Object.keys(properties).map((name) => `"${clean(name)}": …`);
  const how = `${back} --answer '{${form.join(', ')}}'`;
  if (!process.stdin.isTTY) throw new CommandFailed(`The task waits for an answer: ${how} gives it.`);
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  terminal.on('SIGINT', detach).on('close', detach);
  shown = 'a question';
  const content: Record<string, unknown> = {};
  for (const [name, field] of Object.entries<Said>(properties)) {
    const choice = field.type === 'boolean' ? ' (y/n)' : field.enum ? ` (${field.enum.join(', ')})` : '';
    let text: string;
    do {
      text = (await terminal.question(clean(`${field.title ?? name}${choice}? `))).trim();
      content[name] = read(field, text);
    } while (content[name] === undefined && (text !== '' || required.includes(name)));
  }
  terminal.off('close', detach).close();
  shown = '';
  return { action: 'accept', content };
}

/** Undefined if it is not of the right kind; the server judges the rest. */
function read({ type, enum: choices }: Said, text: string): unknown {
  if (type === 'boolean') return { y: true, yes: true, n: false, no: false }[text.toLowerCase()];
  if (text === '' || (choices && !choices.includes(text))) return undefined;
  if (type !== 'number' && type !== 'integer') return text;
  return Number.isFinite(Number(text)) ? Number(text) : undefined;
}
