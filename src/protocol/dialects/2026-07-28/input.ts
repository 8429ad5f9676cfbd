/** Questions on the wire, and which of them a client can take. */
import type { InputRequestV2Schema } from '@modelcontextprotocol/ext-tasks/core/v2';
import type { z } from 'zod';
import type { InputKind, InputRequest } from '../../../model/input.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../model/json.ts';

export type WireInputRequest = z.infer<typeof InputRequestV2Schema>;

export function toInputRequest(request: InputRequest): WireInputRequest {
  switch (request.kind) {
    case 'form':
      return {
        method: 'elicitation/create',
        params: { mode: 'form', message: request.message, requestedSchema: formSchema(request.schema) },
      };
    case 'url': {
      const { message, url, elicitationId } = request;
      return { method: 'elicitation/create', params: { mode: 'url', message, url, elicitationId } };
    }
    case 'sampling':
      return { method: 'sampling/createMessage', params: request.params as never };
    case 'roots':
      return { method: 'roots/list' };
  }
}

/** Only what the protocol knows of JSON Schema here; libraries add more. */
function formSchema({ properties, required }: JsonObject) {
  return {
    type: 'object',
    properties: properties ?? {},
    ...(required !== undefined && { required }),
  } as never;
}

const samples: Record<InputKind, InputRequest> = {
  form: { kind: 'form', message: '', schema: {} },
  url: { kind: 'url', message: '', url: '', elicitationId: '' },
  sampling: { kind: 'sampling', params: {} },
  roots: { kind: 'roots' },
};

/** The kinds of questions that a client with these capabilities can be asked. */
export function answerable(declared: JsonObject): InputKind[] {
  const able = Object.values(samples).filter((request) => missingFor(request, declared) === undefined);
  return able.map(({ kind }) => kind);
}

/** The capability that a client must declare to be asked such a question, or undefined if it declares it. */
export function missingFor(request: InputRequest, declared: Json | undefined): string | undefined {
  const capabilities = isJsonObject(declared) ? declared : {};
  const { elicitation } = capabilities;
  switch (request.kind) {
    case 'form':
      // An empty object has always meant forms.
      if (!isJsonObject(elicitation)) return 'elicitation';
      return Object.keys(elicitation).length === 0 || 'form' in elicitation ? undefined : 'elicitation.form';
    case 'url':
      return isJsonObject(elicitation) && 'url' in elicitation ? undefined : 'elicitation.url';
    case 'sampling':
      return isJsonObject(capabilities.sampling) ? undefined : 'sampling';
    case 'roots':
      return isJsonObject(capabilities.roots) ? undefined : 'roots';
  }
}
