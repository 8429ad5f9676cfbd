/** What can be wrong with any message, whatever its method: the frame of JSON-RPC, and the envelope. */
import fc, { type Arbitrary } from 'fast-check';
import {
  clientCapabilitiesKey,
  clientInfoKey,
  extension,
  protocolVersionKey,
} from '../../src/protocol/dialects/2026-07-28/names.ts';
import { at, type Flaw, type Outcome } from './draft.ts';
import { anything, not, owning, prototypeName } from './junk.ts';
import { type Method, unknownMethods } from './methods.ts';
import {
  headerMismatch,
  invalidParams,
  invalidRequest,
  methodNotFound,
  missingCapability,
  unsupportedVersion,
} from './oracle.ts';
import { headerValue, tasksDeclared } from './requests.ts';

// --- The frame --------------------------------------------------------------------------------------------

const notAMessage: Outcome = { codes: [invalidRequest], words: /not a valid JSON-RPC message|nested/ };

/** In every revision. */
export const brokenFrames: readonly Arbitrary<Flaw>[] = [
  not('string', 'number').map((id) => at(['id'], id, notAMessage)),
  fc.constantFrom(1.5, -0.1, 1e-7, 1e300).map((id) => at(['id'], id, notAMessage)),
  not('string').map((version) => at(['jsonrpc'], version, notAMessage)),
  fc
    .constantFrom('1.0', '2', '2.00', ' 2.0', undefined)
    .map((version) => at(['jsonrpc'], version, notAMessage)),
  not('string').map((method) => at(['method'], method, notAMessage)),
  fc.constant(at(['method'], undefined, notAMessage)),
  not('object').map((params) => at(['params'], params, notAMessage)),
  fc.constantFrom('result', 'error').map((name) => at([name], {}, notAMessage)),
];

export const frameFlaws: readonly Arbitrary<Flaw>[] = [
  ...brokenFrames,
  fc.constant(at(['id'], undefined, { isNotice: true })),
  unknownMethods.map((method) => at(['method'], method, unknown(method))),
  fc.constant(at(['method'], 'tasks/result', unknown('tasks/result'), ['S2663-90'])),
  fc.constant(at(['method'], 'tasks/list', unknown('tasks/list'), ['S2663-95'])),
  // Right by JSON-RPC, but no request of this revision goes without an envelope.
  fc
    .constantFrom(undefined, {})
    .map((params) => at(['params'], params, badEnvelope(/_meta|envelope/), ['S2026-01'])),
];

/** No header can carry some names, so that those of header and body cannot agree. */
function unknown(method: string): Outcome {
  // A server that has resources and prompts misses what these need instead.
  if (method === 'resources/read' || method === 'prompts/get')
    return { codes: [methodNotFound, invalidParams] };
  if (headerValue(method) === method) return { codes: [methodNotFound], words: /method not found/i };
  return { codes: [methodNotFound, headerMismatch] };
}

// --- The envelope -----------------------------------------------------------------------------------------

function badEnvelope(words: RegExp): Outcome {
  return { codes: [invalidParams], words };
}

const meta = ['params', '_meta'];
const version = [...meta, protocolVersionKey];
const info = [...meta, clientInfoKey];
const capabilities = [...meta, clientCapabilitiesKey];
const extensions = [...capabilities, 'extensions'];

/** Not declared, however much it looks like it. */
const undeclared = [
  undefined,
  {},
  owning('__proto__', tasksDeclared.extensions),
  { [extension.toUpperCase()]: {} },
];

/** Besides these, header and body can disagree on the revision where there are headers. */
export function envelopeFlaws({ withoutTasks }: Method, overHttp: boolean): Arbitrary<Flaw>[] {
  // Over stdio the SDK says less, and a request to listen is asked first whether it may.
  const bad = (key: string) => badEnvelope(overHttp ? new RegExp(key) : /envelope/);
  const undeclarable = { codes: [invalidParams, missingCapability] };
  const badCapability = (key: string) => (overHttp ? bad(key) : undeclarable);
  const { rows } = withoutTasks;
  const without: Outcome = { ...withoutTasks, takesTasks: false };
  return [
    not('object').map((value) => at(meta, value, { codes: [invalidRequest, invalidParams] })),
    fc.constantFrom(undefined, {}).map((value) => at(meta, value, badEnvelope(/envelope/), ['S2026-01'])),
    fc.constant(at(version, undefined, bad('protocolVersion'), ['S2026-01'])),
    fc.constant(at(capabilities, undefined, bad('clientCapabilities'), ['S2026-01'])),
    not('string').map((value) => at(version, value, bad('protocolVersion'))),
    not('object').map((value) => at(capabilities, value, badCapability('clientCapabilities'))),
    not('object').map((value) => at(info, value, bad('clientInfo'))),
    fc.constantFrom({}, { name: 5 }, { name: 'x' }).map((value) => at(info, value, bad('clientInfo'))),
    not('object').map((value) => at(extensions, value, badCapability('extensions'))),
    not('object').map((value) => at([...extensions, extension], value, badCapability('extensions'))),
    fc.constant(at(capabilities, owning('__proto__', tasksDeclared), without, rows)),
    fc.constantFrom(...undeclared).map((value) => at(extensions, value, without, rows)),
  ];
}

export const otherRevisions: Arbitrary<string> = fc.constantFrom(
  ...['2025-11-25', '2025-06-18', '2026-07-27', '2099-01-01', '', 'DRAFT', '2026-07-28 ', '2026-7-28'],
);

/** Where nothing but the envelope names a revision: one that is not served here. */
export const revisionFlaws: readonly Arbitrary<Flaw>[] = [
  otherRevisions.map((value) => at(version, value, { codes: [unsupportedVersion] }, ['S2026-03'])),
];

// --- What is not wrong at all -----------------------------------------------------------------------------

/** Members that nobody asked for, with names that might be taken for something else. */
export const harmless: readonly Arbitrary<Flaw>[] = [
  prototypeName.map((name) => at(['params', name], { polluted: 'yes' }, undefined)),
  prototypeName.map((name) => at([...meta, name], { polluted: 'yes' }, undefined)),
  // Who was never heard of takes another way through the server than who is known.
  fc.nat().map((nonce) => at([...meta, 'nonce'], nonce, undefined)),
  anything.map((task) => at(['params', 'task'], task, undefined, ['S2663-91'])),
  anything.map((value) => at(['params', 'example.com/x'], value, undefined)),
];
