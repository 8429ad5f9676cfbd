/**
 * What upstreams have listed, in a file, so that a gateway that starts shows at once what it showed before it ended,
 * also of upstreams that are slow to start or gone. It is a cache: what cannot be read or written is done without.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { isJsonObject } from '../../model/json.ts';
import type { Listed } from './connection.ts';

export type ListCache = ReturnType<typeof listCache>;

export function listCache(file: string) {
  const kept = read(file);
  return {
    get: (upstream: string) => kept.get(upstream),
    set(upstream: string, listed: Listed) {
      if (isListed(listed)) kept.set(upstream, listed);
      else kept.delete(upstream);
      try {
        mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
        // Never half a file: others may be starting.
        writeFileSync(`${file}.${process.pid}`, JSON.stringify(Object.fromEntries(kept)), { mode: 0o600 });
        renameSync(`${file}.${process.pid}`, file);
      } catch {
        // The next start asks the upstreams, as the first one did.
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

/** Of an upstream without capabilities there is nothing to show, so nothing is gained by not waiting for it. */
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
