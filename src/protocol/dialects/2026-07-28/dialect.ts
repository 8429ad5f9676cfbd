/** The Tasks extension of 2026-07-28 (SEP-2663) as a dialect. */
import { BadAnswer, HoldfastError, IdempotencyKeyReused, TaskNotFound } from '../../../model/errors.ts';
import type { InputKind, InputRequest } from '../../../model/input.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../model/json.ts';
import type { Dialect, Sender, WireFault } from '../../dialect.ts';
import { CallFailed, InvalidParams, InvalidRequestState, MissingCapability } from '../../errors.ts';
import { internalError, invalidParams } from '../../json-rpc.ts';
import { missingFor, toInputRequest } from './input.ts';
import { extension, missingCapability, revision } from './names.ts';
import { createResult, detailed, errorOf, getResult, meta } from './task.ts';

const samples: Record<InputKind, InputRequest> = {
  form: { kind: 'form', message: '', schema: {} },
  url: { kind: 'url', message: '', url: '', elicitationId: '' },
  sampling: { kind: 'sampling', params: {} },
  roots: { kind: 'roots' },
};

export const tasksExtension: Dialect = {
  revision,

  sender(capabilities): Sender {
    const declared = isJsonObject(capabilities) ? capabilities : {};
    const extensions = isJsonObject(declared.extensions) ? declared.extensions : {};
    return {
      takesTasks: isJsonObject(extensions[extension]),
      answers: Object.values(samples)
        .filter((request) => missingFor(request, declared) === undefined)
        .map(({ kind }) => kind),
    };
  },

  created: (tree, now) => createResult(tree, now) as unknown as JsonObject,
  shown: (tree, now) => getResult(tree, now) as unknown as JsonObject,
  news: (tree, now) => ({
    method: 'notifications/tasks',
    params: { ...detailed(tree, now), ...meta(tree.root) } as unknown as JsonObject,
  }),
  acknowledged: () => ({ resultType: 'complete' }),

  inputRequired(questions, requestState) {
    const wire = [...questions].map(([key, request]) => [key, toInputRequest(request) as unknown as Json]);
    return { resultType: 'input_required', inputRequests: Object.fromEntries(wire), requestState };
  },

  fault(error): WireFault {
    if (error instanceof MissingCapability)
      return {
        code: missingCapability,
        message: error.message,
        data: { requiredCapabilities: error.required },
      };
    if (error instanceof InvalidRequestState)
      return { code: invalidParams, message: error.message, data: { reason: 'invalid_request_state' } };
    if (error instanceof CallFailed) return failureOf(error);
    if (isRefusalOfParams(error)) return { code: invalidParams, message: error.message };
    return { code: internalError, message: 'Internal error: the server could not carry out the request.' };
  },
};

export function tasksRequired(what: string): MissingCapability {
  return new MissingCapability(`${what} needs a client with the extension ${extension}.`, {
    extensions: { [extension]: {} },
  });
}

function failureOf({ outcome, message }: CallFailed): WireFault {
  return outcome.kind === 'failure' ? errorOf(outcome) : { code: internalError, message };
}

function isRefusalOfParams(error: unknown): error is HoldfastError {
  const classes = [TaskNotFound, BadAnswer, IdempotencyKeyReused, InvalidParams];
  return error instanceof HoldfastError && classes.some((one) => error instanceof one);
}
