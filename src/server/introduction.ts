/** What a server says of itself when a client opens a session or looks what is there, as its sender may know it. */
import { isJsonObject, type JsonObject } from '../model/json.ts';

export const limitsExtension = 'dev.holdfast/limits';

/** A request for an introduction. */
export interface Opening {
  readonly method: 'initialize' | 'server/discover';
  readonly isAnonymous: boolean;
  /** What its sender may ask for, if it is told. */
  readonly limits: JsonObject | undefined;
}

export function isIntroduction(method: unknown): method is Opening['method'] {
  return method === 'initialize' || method === 'server/discover';
}

export function introduced(result: JsonObject, { method, isAnonymous, limits }: Opening): JsonObject {
  const { capabilities } = result;
  if (!isJsonObject(capabilities)) return result;
  const own = isAnonymous ? withoutList(capabilities) : capabilities;
  if (!limits) return { ...result, capabilities: own };
  // The older revision has no place for extensions.
  const place = method === 'initialize' ? 'experimental' : 'extensions';
  const others = isJsonObject(own[place]) ? own[place] : {};
  return { ...result, capabilities: { ...own, [place]: { ...others, [limitsExtension]: limits } } };
}

/** Callers that cannot be told apart would see each other's tasks in a list. */
function withoutList(capabilities: JsonObject): JsonObject {
  if (!isJsonObject(capabilities.tasks)) return capabilities;
  const { list: _, ...tasks } = capabilities.tasks;
  return { ...capabilities, tasks };
}
