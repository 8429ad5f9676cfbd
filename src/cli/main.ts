/**
 * The `holdfast` command. Exit code 1 means that something failed, 2 that the usage was wrong. Both print a message to
 * stderr.
 */

import { runtime } from '../runtime/runtime.ts';
import { HelpRequested, printError, readArguments, version, WrongUsage } from './usage.ts';

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

/** Commands that run until they are stopped. */
const servers = new Set(['demo', 'serve', 'worker']);
/** How long the process stays alive after a server has stopped, to write its last output. */
const exitAfterMs = 1_000;

const help = `Holdfast: durable tasks for MCP, for tools that take minutes or days and survive crashes and restarts.

Usage: holdfast COMMAND [OPTION...]

  serve          add durable tasks to MCP servers and commands that have none
  worker         run the tasks of a gateway in another process or on another machine
  call           call a tool of any MCP server and follow it
  tasks          list, resume, answer and cancel your calls; as an operator, manage all tasks of a server
  audit          print the audit log of a store: who did what to which task
  store          rotate the encryption keys of a store, or switch encryption on or off
  demo           start a server with a few durable tools to try

  -h, --help     show this help, or the help of a command
  --version      show the version

Exit code: 0 on success, 1 if something failed, 2 if the usage is wrong.`;

// Node 22 warns that its SQLite is experimental. It is good enough for us, and users cannot act on the warning.
const { emitWarning } = process;
process.emitWarning = (warning: string | Error, ...rest: never[]) => {
  if (!String(warning).startsWith('SQLite is')) emitWarning.call(process, warning, ...rest);
};
// EPIPE is normal: a reader such as head closes the pipe early. After other errors, such as a full disk, output is
// missing.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit();
  printError({ message: `Could not write output (${error.message}).` });
  process.exit(1);
});
process.on('uncaughtException', (error) => {
  printError(error);
  process.exit(1);
});
// Keeps the process alive until the command returns. Postgres connections do not, not even while they close. The
// interval does nothing, and its length does not matter.
const keepAlive = runtime.setInterval(() => {}, 2 ** 30);
const args = process.argv.slice(2);
process.exitCode = await run(args);
runtime.clearInterval(keepAlive);
// Ends a stopped server even if a step that ignores its signal has left timers or connections open.
if (servers.has(commandOf(args) ?? '')) runtime.setTimeout(() => process.exit(), exitAfterMs).unref();

/** The first argument that is not an option: options may come before the command. */
function commandOf(args: readonly string[]): string | undefined {
  return args.find((arg) => !arg.startsWith('-'));
}

async function run(args: readonly string[]): Promise<number> {
  const name = commandOf(args);
  const command = name !== undefined && Object.hasOwn(commands, name) ? commands[name] : undefined;
  try {
    if (command) return await command(args.toSpliced(args.indexOf(name!), 1));
    return printHelpOrVersion(args);
  } catch (error) {
    if (error instanceof HelpRequested) {
      console.log(error.message);
      return 0;
    }
    if (!(error instanceof WrongUsage)) {
      printError(missingSdk(name, error) ?? (error as Error));
      return 1;
    }
    const help = error.help ?? ['holdfast', ...(command ? [name] : []), '--help'].join(' ');
    printError({ message: `${error.message}; see \`${help}\`.` });
    return 2;
  }
}

/** The packages of the SDK are optional: a project that only runs tasks has none of them. */
function missingSdk(name: string | undefined, error: unknown): { readonly message: string } | undefined {
  const { code, message } = error as NodeJS.ErrnoException;
  const [, missing] = /package '(@modelcontextprotocol\/\w+)'/.exec(message ?? '') ?? [];
  if (code !== 'ERR_MODULE_NOT_FOUND' || missing === undefined) return undefined;
  return {
    message: `holdfast ${name} needs ${missing}: npm install @modelcontextprotocol/server @modelcontextprotocol/client.`,
  };
}

function printHelpOrVersion(args: readonly string[]): number {
  const { values, positionals } = readArguments(args, help, { version: { type: 'boolean' } });
  if (positionals.length > 0) throw new WrongUsage(`unknown command "${positionals[0]}"`);
  console.log(values.version ? version() : help);
  return 0;
}
