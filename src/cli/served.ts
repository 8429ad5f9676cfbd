/** What a gateway or a worker is told to serve: a config, or one command. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import type { Config } from '../gateway/config.ts';
import { WrongUsage } from './usage.ts';

export const usualFile = 'holdfast.json';

/** With a name for where its tasks are kept: the same for the same config, and different for another. */
export interface Served {
  readonly config: Config;
  readonly place: string;
}

export async function configured(file: string | undefined): Promise<Served> {
  const { readConfig } = await import('../gateway/config.ts');
  if (file === undefined && !existsSync(usualFile))
    throw new WrongUsage(`there is no ${usualFile} here: give --config FILE, or a command after --`);
  const path = resolve(file ?? usualFile);
  return { config: readConfig(path), place: placeOf(basename(path, '.json'), path) };
}

export async function started(
  words: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Served> {
  const [command, ...args] = words;
  if (command === undefined) throw new WrongUsage('after -- comes the command that starts the server');
  const { configOf } = await import('../gateway/config.ts');
  const cwd = process.cwd();
  const name = nameOf(words);
  return {
    config: configOf({ command, args, env, cwd }, name),
    place: placeOf(name, JSON.stringify([words, cwd])),
  };
}

/** Of `npx -y @scope/server-files` the last part that says what it is. */
function nameOf([command = '', ...args]: readonly string[]): string {
  const isRunner = /^(npx|bunx|pnpx|uvx|pipx|node|bun|deno|python3?|uv)(\.\w+)?$/.test(basename(command));
  const said = (isRunner && args.find((arg) => !arg.startsWith('-'))) || command;
  return (
    basename(said)
      .replace(/\.\w+$/, '')
      .replace(/@.*$/, '')
      .replaceAll(/[^\w.-]/g, '-')
      .slice(0, 40) || 'server'
  );
}

function placeOf(name: string, identity: string): string {
  return `${name}-${createHash('sha256').update(identity).digest('hex').slice(0, 8)}`;
}
