/** `holdfast demo`: starts a server with durable tools to try. */
import { resolve } from 'node:path';
import { CommandFailed, command, defaultPort, demoCommand, readArguments, WrongUsage } from '../usage.ts';
import { portFrom } from './serving.ts';

const help = `Starts an MCP server with a few durable tools on this machine, and a dashboard that shows their tasks.

Usage: holdfast demo [--port N] [--data DIR]
       holdfast demo call TOOL [JSON]    call one of the tools, like holdfast call with the URL of the demo

  --port N       port on 127.0.0.1, 0 for any (default: PORT in the environment, or ${defaultPort})
  --data DIR     folder for the tasks (default .holdfast)
  -h, --help     show this help`;

export async function demo(args: readonly string[]): Promise<number> {
  if (args[0] === 'call') return callDemo(args.slice(1));
  const { values, positionals } = readArguments(args, help, {
    port: { type: 'string' },
    data: { type: 'string' },
  });
  if (positionals.length > 0) throw new WrongUsage(`unexpected argument "${positionals[0]}" for demo`);
  const port = portFrom(values.port ?? demoPort());
  const { serveDemo } = await import('../demo/serve.ts');
  await serveDemo(port, process.cwd(), resolve(values.data ?? '.holdfast'));
  return 0;
}

async function callDemo(args: readonly string[]): Promise<number> {
  const [{ call }, { NoServer }] = await Promise.all([import('./call.ts'), import('../calls/target.ts')]);
  try {
    return await call([`http://127.0.0.1:${demoPort()}/mcp`, ...args]);
  } catch (error) {
    // The error of a failed connection is the cause of the error of the call.
    if ((error as Error).cause instanceof NoServer)
      throw new CommandFailed(`${(error as Error).message} Start it with \`${demoCommand()}\`.`);
    // By default the error would refer to the help of `demo`.
    if (error instanceof WrongUsage) error.help = `${command()} call --help`;
    throw error;
  }
}

function demoPort(): string {
  return process.env.PORT || String(defaultPort);
}
