/**
 * In sessions the SDK calls it an internal error of the server if the params of a request do not fit its schemas, and
 * shows what the schemas say as it is. Here it becomes what it is: invalid params, in a sentence.
 */
import { isJsonObject, type JsonObject } from '../model/json.ts';
import type { WireFault } from '../protocol/dialect.ts';
import { internalError, invalidParams } from '../protocol/json-rpc.ts';

export function withRightCode<M extends object>(answer: M): M {
  if (!('error' in answer) || !isJsonObject(answer.error) || answer.error.code !== internalError)
    return answer;
  const issues = issuesIn(answer.error.message);
  if (!issues) return answer;
  const message = `Invalid params: ${issues.map(sentenceOf).join('; ')}.`;
  return { ...answer, error: { ...answer.error, code: invalidParams, message } };
}

/** Issues of a request that was looked at as a whole. What a handler says of its own values does not begin so. */
function issuesIn(message: unknown): JsonObject[] | undefined {
  if (typeof message !== 'string' || !message.startsWith('[')) return undefined;
  try {
    const issues: unknown[] = JSON.parse(message);
    return issues.length > 0 && issues.every(isIssueOfParams) ? issues : undefined;
  } catch {
    return undefined;
  }
}

function isIssueOfParams(issue: unknown): issue is JsonObject {
  return isJsonObject(issue) && Array.isArray(issue.path) && issue.path[0] === 'params';
}

function sentenceOf({ path, message }: JsonObject): string {
  const place = (path as unknown[]).slice(1).join('.') || 'params';
  return `${place}: ${String(message)}`;
}

/** An error as the SDK puts it on the wire. */
export class Fault extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor({ code, message, data }: WireFault) {
    super(message);
    this.code = code;
    this.data = data;
  }
}
