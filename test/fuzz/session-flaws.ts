/** What can be wrong with any message of a session, whatever it says: its frame, its headers, its bytes. */
import fc, { type Arbitrary } from 'fast-check';
import { byteFlaws } from './byte-flaws.ts';
import { at, type BadMessage, type Base, type Flaw, type Outcome, spoil } from './draft.ts';
import { brokenFrames } from './flaws.ts';
import { around, header, notForHere, otherMethods, replace } from './http-flaws.ts';
import { oddText, prototypeName } from './junk.ts';
import {
  invalidParams,
  invalidRequest,
  methodNotFound,
  notAdmitted,
  transportRefusal,
  unsupportedVersion,
} from './oracle.ts';
import { openings, type SessionFacts, type SessionMethod, sessionMethods } from './session-methods.ts';

const unknownMethods: Arbitrary<string> = fc.oneof(
  fc.constantFrom('tasks/update', 'tasks/', 'tasks', 'Tasks/get', 'tasks/get ', 'subscriptions/listen'),
  fc.constantFrom('initialized', 'sampling/createMessage', 'elicitation/create', 'roots/list'),
  prototypeName,
  oddText,
);

const otherRequests: readonly Arbitrary<Flaw>[] = [
  unknownMethods.map((name) => at(['method'], name, { codes: [methodNotFound] })),
  // A request without an id is a notice, and one that nobody knows.
  fc.constant(at(['id'], undefined, { isNotice: true })),
];

const otherSessions = fc.constantFrom('x', 'a'.repeat(32), '__proto__', 'null', 'a, b', 'i'.repeat(4_000));
/** Whoever names a later revision is told what is missing for that. */
const badRevision = { codes: [transportRefusal, invalidParams, unsupportedVersion], statuses: [400] };
const noSession = { codes: [notAdmitted], statuses: [404] };

function sessionHeaderFlaws({ headers }: SessionFacts): Arbitrary<Flaw>[] {
  const own = headers.find(([name]) => name === 'Mcp-Session-Id')![1];
  const unknown = fc.oneof(otherSessions, fc.constantFrom(own.slice(0, -1), `${own}a`, own.toUpperCase()));
  const without = (verb: string) =>
    around(`${verb} of no session`, { statuses: [400] }, (draft) => {
      draft.httpMethod = verb;
      replace(draft, 'Mcp-Session-Id', []);
    });
  return [
    fc.constant(header('Mcp-Session-Id', [], { codes: [transportRefusal], statuses: [400] })),
    unknown.map((id) => header('Mcp-Session-Id', [id], noSession)),
    fc.tuple(fc.constantFrom('GET', 'DELETE'), unknown).map(([verb, id]) =>
      around(`${verb} of the session ${id.slice(0, 40)}`, noSession, (draft) => {
        draft.httpMethod = verb;
        replace(draft, 'Mcp-Session-Id', [id]);
      }),
    ),
    fc.constantFrom('GET', 'DELETE').map(without),
    // Its stream is open already.
    fc.oneof(oddText, fc.constant('1')).map((id) =>
      around('a second stream', { statuses: [400, 409] }, (draft) => {
        draft.httpMethod = 'GET';
        replace(draft, 'Last-Event-ID', [id.replace(/[^ -~]/g, '')]);
      }),
    ),
    fc
      .constantFrom('2099-01-01', 'x', '1', 'DRAFT', '2025-11-25x', 'toString')
      .map((version) => header('MCP-Protocol-Version', [version], badRevision)),
    fc.constantFrom([], ['2025-11-25']).map((version) => header('MCP-Protocol-Version', version, undefined)),
    fc
      .constantFrom('', 'Bearer', 'Bearer ', 'Basic eDp5', 'Bearer nobody', 'bearer  x', 'Bearer a b')
      // This server believes anybody who they are.
      .map((value) => header('Authorization', [value], { codes: [notAdmitted], statuses: [400, 401] })),
  ];
}

/** Where a stream would be the answer; a look at a task needs none. */
function acceptFlaw({ good, isNotice = false }: Base): Arbitrary<Flaw> {
  const types = fc.constantFrom('text/html', 'application/json', 'text/event-stream', '*/*', '', ',;q=x');
  return types.map((type) => header('Accept', [type], { statuses: [406], good, isNotice }));
}

/** Revisions before this one had batches, and the SDK still takes them. What is in one twice may be refused. */
function inBatches({ good, isNotice = false }: Base): Outcome {
  return { codes: [invalidRequest, invalidParams, transportRefusal], good, isNotice };
}

export interface SessionWay {
  readonly overHttp: boolean;
}

/** What is wrong inside of the message, and what is wrong around it. */
function flawsOf({ base, flaws }: SessionMethod, facts: SessionFacts, { overHttp }: SessionWay) {
  const isRequest = base.message.id !== undefined && base.message.method !== undefined;
  const isOpening = base.message.method === 'initialize';
  const http = [...notForHere, otherMethods(), acceptFlaw(base)];
  return {
    inside: [...flaws, ...(isRequest ? brokenFrames : []), ...(isRequest && !isOpening ? otherRequests : [])],
    around: [
      ...byteFlaws(overHttp, inBatches(base)),
      ...(overHttp ? http : []),
      ...(overHttp && !isOpening ? sessionHeaderFlaws(facts) : []),
    ],
  };
}

function methodsOf(facts: SessionFacts, { overHttp }: SessionWay): SessionMethod[] {
  return [...sessionMethods(facts), ...(overHttp ? openings(facts) : [])];
}

/** Every message as it should be, and with every flaw, once and alone. */
export function sessionSweep(facts: SessionFacts, way: SessionWay): Arbitrary<BadMessage>[] {
  return methodsOf(facts, way).flatMap((method) => {
    const { inside, around } = flawsOf(method, facts, way);
    const spoilt = (flaws: Flaw[]) => spoil(method.base, flaws, []);
    return [
      fc.constant<Flaw[]>([]).map(spoilt),
      ...[...inside, ...around].map((flaw) => flaw.map((one) => spoilt([one]))),
    ];
  });
}

/** Mostly one flaw, and mostly one in the message. */
export function badSessionMessages(facts: SessionFacts, way: SessionWay): Arbitrary<BadMessage> {
  const all = methodsOf(facts, way).map((method) => {
    const flaws = flawsOf(method, facts, way);
    const [inside, around] = [fc.oneof(...flaws.inside), fc.oneof(...flaws.around)];
    return fc
      .oneof(
        { weight: 6, arbitrary: inside.map((one) => [one]) },
        { weight: 2, arbitrary: around.map((one) => [one]) },
        { weight: 1, arbitrary: fc.tuple(inside, around) },
      )
      .map((chosen) => spoil(method.base, chosen, []));
  });
  return fc.oneof(...all);
}
