/** Servers by name, from a file as every MCP host has one: the key `mcpServers`. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { serversIn, type Target, targetIn } from '../gateway/config.ts';
import { readConfigFile } from '../gateway/config-file.ts';
import { WrongUsage } from './usage.ts';

export type Upstream = Target;

export const usualFiles = ['.mcp.json', 'holdfast.json'];

/** The server of that name, and the file that it was found in. */
export function configured(
  name: string,
  file: string | undefined,
): { readonly file: string; readonly upstream: Upstream } {
  const files = (file === undefined ? usualFiles.filter((usual) => existsSync(usual)) : [file]).map((found) =>
    resolve(found),
  );
  const names: string[] = [];
  for (const file of files) {
    const servers = serversIn(readConfigFile(file));
    const server = servers.key(name);
    if (server) return { file, upstream: targetIn(name, server) };
    names.push(...Object.keys(servers.object()));
  }
  if (files.length === 0)
    throw new WrongUsage(
      `"${name}" is no URL, and there is no ${usualFiles.join(' or ')} here that knows it`,
    );
  const known = names.length > 0 ? `, only ${names.map((known) => `"${known}"`).join(', ')}` : '';
  throw new WrongUsage(`${files.join(' and ')} ${files.length > 1 ? 'know' : 'knows'} no "${name}"${known}`);
}
