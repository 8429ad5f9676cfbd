/** `holdfast demo`: durable tools to try on a server of their own. */
import { resolve } from 'node:path';
import { CommandFailed, command, defaultPort, demoCommand, readArguments, WrongUsage } from '../usage.ts';
import { portFrom } from './serving.ts';

const help = `Serves a few durable tools over MCP on this machine, with a dashboard that shows their tasks.

Usage: holdfast demo [--port N] [--data DIR]
       holdfast demo call TOOL [JSON]    call one of them: holdfast call with the URL of the demo

  --port N       the port on 127.0.0.1, 0 for any (default: PORT of the environment, or ${defaultPort})
  --data DIR     where tasks are kept (default .holdfast)
  -h, --help     say this`;

export async function demo(args: readonly string[]): Promise<number> {
  if (args[0] === 'call') return callDemo(args.slice(1));
  const { values, positionals } = readArguments(args, help, {
    port: { type: 'string' },
    data: { type: 'string' },
  });
  if (positionals.length > 0) throw new WrongUsage(`the demo takes no "${positionals[0]}"`);
  const port = portFrom(values.port ?? usualPort());
  const { serveDemo } = await import('../demo/serve.ts');
  await serveDemo(port, process.cwd(), resolve(values.data ?? '.holdfast'));
  return 0;
}

async function callDemo(args: readonly string[]): Promise<number> {
  const [{ call }, { NoServer }] = await Promise.all([import('./call.ts'), import('../calls/target.ts')]);
  try {
    return await call([`http://127.0.0.1:${usualPort()}/mcp`, ...args]);
  } catch (error) {
    if ((error as Error).cause instanceof NoServer)
      throw new CommandFailed(`${(error as Error).message} Start it with \`${demoCommand()}\`..`);
    if (error instanceof WrongUsage) error.help = `${command()} call --help`;
    throw error;
  }
}

function usualPort(): string {
  return process.env.PORT || String(defaultPort);
}
