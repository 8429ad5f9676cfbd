/** `holdfast demo`: durable tools to try on a server of their own, and a client for them. */
import { resolve } from 'node:path';
import { portFrom } from './serving.ts';
import { defaultPort, howToRun, readArguments, WrongUsage } from './usage.ts';

const help = `Serves a few durable tools over MCP on this machine, with a dashboard that shows their tasks.

Usage: holdfast demo [--port N] [--data DIR]
       holdfast demo call TOOL [JSON]    call one of them; see holdfast demo call --help

  --port N       the port on 127.0.0.1, 0 for any (default: PORT of the environment, or ${defaultPort})
  --data DIR     where tasks are kept (default .holdfast)
  -h, --help     say this`;

export async function demo(args: readonly string[]): Promise<number> {
  const isCall = args[0] === 'call';
  try {
    return await (isCall ? (await import('./demo-call.ts')).call(args.slice(1)) : start(args));
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
  await serveDemo({ port, here: process.cwd(), data: resolve(values.data ?? '.holdfast') });
  return 0;
}
