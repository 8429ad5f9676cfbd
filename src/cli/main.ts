/**
 * The `holdfast` command. Exit code 1 means that something failed, 2 that the usage was wrong; either is told in one
 * sentence on stderr.
 */

import { runtime } from '../runtime/runtime.ts';
import { HelpAsked, readArguments, say, version, WrongUsage } from './usage.ts';

type Command = (args: readonly string[]) => Promise<number>;

const commands: Readonly<Record<string, Command>> = {
  demo: async (args) => (await import('./commands/demo.ts')).demo(args),
  serve: async (args) => (await import('./commands/serve.ts')).serve(args),
  worker: async (args) => (await import('./commands/serve.ts')).worker(args),
  call: async (args) => (await import('./commands/call.ts')).call(args),
  tasks: async (args) => (await import('./commands/tasks.ts')).tasks(args),
  audit: async (args) => (await import('./commands/audit.ts')).audit(args),
  store: async (args) => (await import('./commands/store.ts')).store(args),
};

/** They run until they are told to stop. */
const servers = new Set(['demo', 'serve', 'worker']);
/** So long what they said last may take to be written. */
const exitAfterMs = 1_000;

const help = `Holdfast: durable tasks for MCP, for tools that take minutes or days and survive crashes and restarts.

Usage: holdfast COMMAND [OPTION...]

  serve          put durable tasks in front of MCP servers and commands that have none
  worker         carry out the tasks of gateways on the same store, in another process or on another machine
  call           call a tool of any MCP server; its tasks survive this terminal
  tasks          list calls made here, come back to them, answer and cancel them; for operators, all tasks of a server
  audit          say who did what to which task, from the audit log of a store
  store          re-encrypt a store: rotate its keys, switch encryption on or off
  demo           serve a few durable tools, to try them

  -h, --help     say this, or with a command how to use it
  --version      say which version this is

Exit code 0, 1 if something failed, 2 if the usage is wrong.`;

// Node 22 warns that its SQLite is experimental. That it will do is for us to know, not for whoever runs a command.
const { emitWarning } = process;
process.emitWarning = (warning: string | Error, ...rest: never[]) => {
  if (!String(warning).startsWith('SQLite is')) emitWarning.call(process, warning, ...rest);
};
// Whoever reads the output may leave early, as head does. A disk that is full is another matter: something is missing.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit();
  say({ message: `What was to be said could not be written (${error.message}).` });
  process.exit(1);
});
process.on('uncaughtException', (error) => {
  say(error);
  process.exit(1);
});
// A command is over when it says so: connections to Postgres do not hold a process, not even while they are closed.
const holding = runtime.setInterval(() => {}, 2 ** 30);
const args = process.argv.slice(2);
process.exitCode = await run(args);
runtime.clearInterval(holding);
// A server that has stopped ends, whatever timers or connections a step that ignores its signal has left behind.
if (servers.has(commandOf(args) ?? '')) runtime.setTimeout(() => process.exit(), exitAfterMs).unref();

function commandOf(args: readonly string[]): string | undefined {
  return args.find((arg) => !arg.startsWith('-'));
}

async function run(args: readonly string[]): Promise<number> {
  const name = commandOf(args);
  const command = name !== undefined && Object.hasOwn(commands, name) ? commands[name] : undefined;
  try {
    if (command) return await command(args.toSpliced(args.indexOf(name!), 1));
    return plain(args);
  } catch (error) {
    if (error instanceof HelpAsked) {
      console.log(error.message);
      return 0;
    }
    if (!(error instanceof WrongUsage)) {
      say(error as Error);
      return 1;
    }
    const help = error.help ?? ['holdfast', ...(command ? [name] : []), '--help'].join(' ');
    say({ message: `${error.message}; \`${help}\` says what there is.` });
    return 2;
  }
}

function plain(args: readonly string[]): number {
  const { values, positionals } = readArguments(args, help, { version: { type: 'boolean' } });
  if (positionals.length > 0) throw new WrongUsage(`there is no command "${positionals[0]}"`);
  console.log(values.version ? version() : help);
  return 0;
}
