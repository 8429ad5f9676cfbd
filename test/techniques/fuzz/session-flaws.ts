/** What can be wrong with any message of a session, whatever it says: its frame, its headers, its bytes. */
import fc, { type Arbitrary } from 'fast-check';
import { byteFlaws } from './byte-flaws.ts';
import { type Base, bad, type Flaw, type Flaws, type Method, type Outcome, oneOf } from './draft.ts';
import { brokenFrames } from './flaws.ts';
import { both, header, headers, notForHere, oddHeader, otherMethods, sent } from './http-flaws.ts';
import { oddText, prototypeName } from './junk.ts';

const unknownMethods: Arbitrary<string> = fc.oneof(
  fc.constantFrom('tasks/update', 'tasks/', 'tasks', 'Tasks/get', 'tasks/get ', 'subscriptions/listen'),
  fc.constantFrom('initialized', 'sampling/createMessage', 'elicitation/create', 'roots/list'),
  prototypeName,
  oddText,
);

const otherRequests: Flaws = [
  bad('method', unknownMethods, { codes: ['methodNotFound'] }),
  // A request without an id is a notice, and one that nobody knows.
  bad('id', [undefined], { isNotice: true }),
];

const otherSessions = ['x', 'a'.repeat(32), '__proto__', 'null', 'a, b', 'i'.repeat(4_000)];
const otherVersions = ['2099-01-01', 'x', '1', 'DRAFT', '2025-11-25x', 'toString'];
const otherTypes = ['text/html', 'application/json', 'text/event-stream', '*/*', '', ',;q=x'];
const badTokens = ['', 'Bearer', 'Bearer ', 'Basic eDp5', 'Bearer nobody', 'bearer  x', 'Bearer a b'];
/** Whoever names a later revision is told what is missing for that. */
const badRevision: Outcome = {
  codes: ['transportRefusal', 'invalidParams', 'unsupportedVersion'],
  statuses: [400],
};
const noSession: Outcome = { codes: ['notAdmitted'], statuses: [404] };

function sessionHeaderFlaws(own: string): Arbitrary<Flaw>[] {
  const unknown = oneOf([...otherSessions, own.slice(0, -1), `${own}a`, own.toUpperCase()]);
  const get = sent({ httpMethod: 'GET' }, {});
  const verbs = oneOf([get, sent({ httpMethod: 'DELETE' }, {})]);
  return [
    fc.constant(header('Mcp-Session-Id', [], { codes: ['transportRefusal'], statuses: [400] })),
    headers('Mcp-Session-Id', unknown, noSession),
    fc
      .tuple(verbs, headers('Mcp-Session-Id', unknown))
      .map(([verb, session]) => both(verb, session, noSession)),
    verbs.map((verb) => both(verb, header('Mcp-Session-Id', []), { statuses: [400] })),
    // Its stream is open already.
    headers('Last-Event-ID', fc.oneof(oddHeader, fc.constant('1'))).map((id) =>
      both(get, id, { statuses: [400, 409] }),
    ),
    headers('MCP-Protocol-Version', otherVersions, badRevision),
    oneOf([[], ['2025-11-25']]).map((version) => header('MCP-Protocol-Version', version)),
    // This server believes anybody who they are.
    headers('Authorization', badTokens, { codes: ['notAdmitted'], statuses: [400, 401] }),
  ];
}

/** The message with what can be wrong inside of it, besides `params`, and with what can be wrong around it. */
export function inSession(base: Base, params: Flaws, overHttp: boolean): Method {
  const { good, isNotice = false, message } = base;
  const isRequest = message.id !== undefined && message.method !== undefined;
  const session = base.inSession?.find(([name]) => name === 'Mcp-Session-Id');
  const isOpening = message.method === 'initialize';
  // Revisions before this one had batches, and the SDK still takes them. What is in one twice may be refused.
  const inBatches: Outcome = {
    codes: ['invalidRequest', 'invalidParams', 'transportRefusal'],
    good,
    isNotice,
  };
  // Where a stream would be the answer; a look at a task needs none.
  const accept = headers('Accept', otherTypes, { statuses: [406], good, isNotice });
  return {
    base,
    flaws: {
      params: [
        ...params,
        ...(isRequest ? brokenFrames : []),
        ...(isRequest && !isOpening ? otherRequests : []),
      ],
      http: [
        ...byteFlaws(overHttp, inBatches),
        ...(overHttp ? [...notForHere, otherMethods(), accept] : []),
        ...(session ? sessionHeaderFlaws(session[1]) : []),
      ],
    },
  };
}
