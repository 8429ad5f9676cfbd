/** Answers that a request came with, however wrong they are: their sender is to hear what is wrong with them. */
import type { ServerContext } from '@modelcontextprotocol/server';
import { isJsonObject } from '../model/json.ts';

/** The SDK would make an empty object of them, and a caller be told that its answers were taken. */
export function withoutBadResponses<M extends object>(message: M): M {
  if (!('params' in message) || !isJsonObject(message.params)) return message;
  const { inputResponses, ...params } = message.params;
  return inputResponses === undefined || isJsonObject(inputResponses) ? message : { ...message, params };
}

/** The SDK takes malformed answers out; they are put back, so that their sender hears what is wrong with them. */
export function responsesOf({ mcpReq }: ServerContext): unknown {
  const { inputResponses, droppedInputResponseKeys = [] } = mcpReq;
  if (droppedInputResponseKeys.length === 0) return inputResponses;
  return { ...inputResponses, ...Object.fromEntries(droppedInputResponseKeys.map((key) => [key, null])) };
}
