/** Questions in wire format, and the kinds of questions that a client can answer. */
import type { InputRequestV2Schema } from '@modelcontextprotocol/ext-tasks/core/v2';
import type { z } from 'zod';
import type { InputKind, InputRequest } from '../../model/input.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';

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

/** Keeps only the parts of a JSON Schema that the protocol allows in a form. Schema libraries add others. */
function formSchema({ properties, required }: JsonObject) {
  return {
    type: 'object',
    properties: properties ?? {},
    ...(required !== undefined && { required }),
  } as never;
}

/** The kinds of questions that a client with these capabilities can be asked. */
export function answerable({ elicitation, sampling, roots }: JsonObject): InputKind[] {
  const modes = isJsonObject(elicitation) ? Object.keys(elicitation) : undefined;
  const able: Record<InputKind, boolean> = {
    // In all revisions, an empty `elicitation` object means forms only.
    form: modes !== undefined && (modes.length === 0 || modes.includes('form')),
    url: modes?.includes('url') ?? false,
    sampling: isJsonObject(sampling),
    roots: isJsonObject(roots),
  };
  return (Object.keys(able) as InputKind[]).filter((kind) => able[kind]);
}
