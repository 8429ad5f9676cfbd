/** Servers by name, from a file as every MCP host has one: the key `mcpServers`. */
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isJsonObject, type Json, type JsonObject } from '../model/json.ts';
import { CommandFailed, WrongUsage } from './usage.ts';

export type Upstream =
  | { readonly url: string; readonly headers: Readonly<Record<string, string>> }
  | {
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly cwd?: string;
    };

const usualFiles = ['.mcp.json', 'holdfast.json'];

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
    const servers = serversIn(file);
    if (Object.hasOwn(servers, name)) return { file, upstream: upstreamOf(servers[name]!, name, file) };
    names.push(...Object.keys(servers));
  }
  if (files.length === 0)
    throw new WrongUsage(
      `"${name}" is no URL, and there is no ${usualFiles.join(' or ')} here that knows it`,
    );
  const known = names.length > 0 ? `, only ${names.map((known) => `"${known}"`).join(', ')}` : '';
  throw new WrongUsage(`${files.join(' and ')} ${files.length > 1 ? 'know' : 'knows'} no "${name}"${known}`);
}

function serversIn(file: string): JsonObject {
  let config: unknown;
  try {
    config = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new CommandFailed(`${file} cannot be read: ${(error as Error).message}`);
  }
  const servers = isJsonObject(config) ? config.mcpServers : undefined;
  if (!isJsonObject(servers)) throw new CommandFailed(`${file} has no "mcpServers".`);
  return servers;
}

function upstreamOf(server: Json, name: string, file: string): Upstream {
  const { url, headers, command, args = [], env, cwd } = isJsonObject(server) ? server : ({} as JsonObject);
  const text = (value: Json) => expanded(String(value), name, file);
  const texts = (values: Json | undefined) =>
    Object.fromEntries(
      Object.entries(isJsonObject(values) ? values : {}).map(([key, value]) => [key, text(value)]),
    );
  if (typeof url === 'string') return { url: text(url), headers: texts(headers) };
  if (typeof command !== 'string')
    throw new CommandFailed(`"${name}" in ${file} has neither a "command" nor a "url".`);
  return {
    command: text(command),
    args: Array.isArray(args) ? args.map(text) : [],
    env: texts(env),
    ...(typeof cwd === 'string' && { cwd: text(cwd) }),
  };
}

/** `${NAME}` and `${NAME:-otherwise}`, so that secrets need not be in the file. */
function expanded(text: string, server: string, file: string): string {
  return text.replace(/\$\{(\w+)(?::-([^}]*))?\}/g, (_, name: string, otherwise: string | undefined) => {
    const value = process.env[name] ?? otherwise;
    if (value === undefined)
      throw new CommandFailed(`"${server}" in ${file} needs ${name}, which is not in the environment.`);
    return value;
  });
}
