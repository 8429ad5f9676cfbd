/**
 * The lists of upstreams in a file. A gateway serves them right after its start, even if an upstream is slow to start
 * or unreachable. Failures to read or write the file are ignored.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { isJsonObject } from '../../model/json.ts';
import type { Listed } from './connection.ts';

export type ListCache = ReturnType<typeof listCache>;

export function listCache(file: string) {
  const cached = read(file);
  return {
    get: (upstream: string) => cached.get(upstream),
    set(upstream: string, listed: Listed) {
      if (isListed(listed)) cached.set(upstream, listed);
      else cached.delete(upstream);
      try {
        mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
        // Written atomically: another gateway may be reading the file.
        writeFileSync(`${file}.${process.pid}`, JSON.stringify(Object.fromEntries(cached)), { mode: 0o600 });
        renameSync(`${file}.${process.pid}`, file);
      } catch {
        // Without the file, the next start waits for the upstreams.
      }
    },
  };
}

function read(file: string): Map<string, Listed> {
  try {
    const all = Object.entries<unknown>(JSON.parse(readFileSync(file, 'utf8')));
    return new Map(all.filter(([, listed]) => isListed(listed))) as Map<string, Listed>;
  } catch {
    return new Map();
  }
}

/** True for well-formed lists. False for an upstream without capabilities, because there is nothing to cache. */
function isListed(value: unknown): boolean {
  return (
    isJsonObject(value) &&
    isJsonObject(value.capabilities) &&
    Object.keys(value.capabilities).length > 0 &&
    [value.tools, value.prompts, value.resources, value.resourceTemplates].every(
      (list) => Array.isArray(list) && list.every(isJsonObject),
    )
  );
}
