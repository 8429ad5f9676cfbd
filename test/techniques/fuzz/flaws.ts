/** What can be wrong with any message, whatever its method: the frame of JSON-RPC, and the envelope. */
import fc, { type Arbitrary } from 'fast-check';
import {
  clientCapabilitiesKey,
  clientInfoKey,
  extension,
  protocolVersionKey,
} from '../../../src/dialects/2026-07-28/names.ts';
import { at, bad, type Flaw, type Flaws, type Outcome } from './draft.ts';
import { anything, not, oddText, owning, prototypeName } from './junk.ts';
import { headerValue, tasksDeclared } from './requests.ts';

const notAMessage: Outcome = { codes: ['invalidRequest'], words: /not a valid JSON-RPC message|nested/ };

/** In every revision. */
export const brokenFrames: Flaws = [
  bad('id', not('string', 'number'), notAMessage),
  bad('id', [1.5, -0.1, 1e-7, 1e300], notAMessage),
  bad('jsonrpc', not('string'), notAMessage),
  bad('jsonrpc', ['1.0', '2', '2.00', ' 2.0', undefined], notAMessage),
  bad('method', not('string'), notAMessage),
  bad('method', [undefined], notAMessage),
  bad('params', not('object'), notAMessage),
  bad('result', [{}], notAMessage),
  bad('error', [{}], notAMessage),
];

/** Names of methods that there are none of, the two that this revision has dropped among them. */
const unknownMethods: Arbitrary<string> = fc.oneof(
  fc.constantFrom('tasks/result', 'tasks/list'),
  fc.constantFrom('tasks/delete', 'tasks/continue', 'tasks/', 'tasks'),
  fc.constantFrom('Tasks/get', 'tasks/get ', 'tasks/get/x'),
  fc.constantFrom('initialized', 'ping', 'logging/setLevel', 'sampling/createMessage'),
  fc.constantFrom('resources/read', 'prompts/get'),
  prototypeName,
  oddText.filter((text) => text.length < 1_000),
);

export const frameFlaws: Flaws = [
  ...brokenFrames,
  bad('id', [undefined], { isNotice: true }),
  unknownMethods.map((method) => at('method', method, unknown(method))),
  bad('method', ['tasks/result'], unknown('tasks/result'), 'S2663-90'),
  bad('method', ['tasks/list'], unknown('tasks/list'), 'S2663-95'),
  // Right by JSON-RPC, but no request of this revision goes without an envelope.
  bad('params', [undefined, {}], badEnvelope(/_meta|envelope/), 'S2026-01'),
];

/** No header can carry some names, so that those of header and body cannot agree. */
function unknown(method: string): Outcome {
  // A server that has resources and prompts misses what these need instead.
  if (method === 'resources/read' || method === 'prompts/get')
    return { codes: ['methodNotFound', 'invalidParams'] };
  if (headerValue(method) === method) return { codes: ['methodNotFound'], words: /method not found/i };
  return { codes: ['methodNotFound', 'headerMismatch'] };
}

function badEnvelope(words: RegExp): Outcome {
  return { codes: ['invalidParams'], words };
}

const meta = 'params>_meta';
export const version = `${meta}>${protocolVersionKey}`;
const info = `${meta}>${clientInfoKey}`;
const capabilities = `${meta}>${clientCapabilitiesKey}`;
const extensions = `${capabilities}>extensions`;

/** Not declared, however much it looks like it. */
const undeclared = [
  undefined,
  {},
  owning('__proto__', tasksDeclared.extensions),
  { [extension.toUpperCase()]: {} },
];

/** What comes of a request whose sender does not declare the extension, and which requirements that keeps. */
export type WithoutTasks = Outcome & { readonly rows?: readonly string[] };

/** Besides these, header and body can disagree on the revision where there are headers. */
export function envelopeFlaws({ rows = [], ...withoutTasks }: WithoutTasks, overHttp: boolean): Flaws {
  // Over stdio the SDK says less, and a request to listen is asked first whether it may.
  const refused = (key: string) => badEnvelope(overHttp ? new RegExp(key) : /envelope/);
  const badCapability = (key: string): Outcome =>
    overHttp ? refused(key) : { codes: ['invalidParams', 'missingCapability'] };
  const without: Outcome = { ...withoutTasks, takesTasks: false };
  return [
    bad(meta, not('object'), { codes: ['invalidRequest', 'invalidParams'] }),
    bad(meta, [undefined, {}], badEnvelope(/envelope/), 'S2026-01'),
    bad(version, [undefined], refused('protocolVersion'), 'S2026-01'),
    bad(capabilities, [undefined], refused('clientCapabilities'), 'S2026-01'),
    bad(version, not('string'), refused('protocolVersion')),
    bad(capabilities, not('object'), badCapability('clientCapabilities')),
    bad(info, not('object'), refused('clientInfo')),
    bad(info, [{}, { name: 5 }, { name: 'x' }], refused('clientInfo')),
    bad(extensions, not('object'), badCapability('extensions')),
    bad(`${extensions}>${extension}`, not('object'), badCapability('extensions')),
    bad(capabilities, [owning('__proto__', tasksDeclared)], without, ...rows),
    bad(extensions, undeclared, without, ...rows),
  ];
}

export const otherRevisions = [
  ...['2025-11-25', '2025-06-18', '2026-07-27', '2099-01-01', '', 'DRAFT', '2026-07-28 ', '2026-7-28'],
];

/** Where nothing but the envelope names a revision: one that is not served here. */
export const revisionFlaws: Flaws = [
  bad(version, otherRevisions, { codes: ['unsupportedVersion'] }, 'S2026-03'),
];

/** A member that nobody asked for, with a name that might be taken for something else. */
export function polluting(place: string): Arbitrary<Flaw> {
  return prototypeName.map((name) => at(`${place}>${name}`, { polluted: 'yes' }, undefined));
}

export const harmless: Flaws = [
  polluting('params'),
  polluting(meta),
  // Who was never heard of takes another way through the server than who is known.
  bad(`${meta}>nonce`, fc.nat()),
  bad('params>task', anything, undefined, 'S2663-91'),
  bad('params>example.com/x', anything),
];
