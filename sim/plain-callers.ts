/**
 * Hosts without tasks: they call a tool and wait. After a hand-over they follow the task with plain tools. If the
 * connection is lost or the host dies, they send the same call again.
 */

import { readEvents } from '../src/dialects/event-stream.ts';
import type { JsonObject } from '../src/model/json.ts';
import { pause } from '../src/runtime/runtime.ts';
import { answeredBy, callHeader } from './plain-calls.ts';
import { answerTo, expectedOf, type Program, randomProgram } from './programs.ts';
import type { Random } from './random.ts';
import { type OwnerName, type Servers, tokens } from './servers.ts';
import type { SimProcess } from './world.ts';

const behaviours = { 'plain call': 50, 'plain crash': 25, 'plain cancel': 10, 'plain again': 15 } as const;
type Behaviour = keyof typeof behaviours;
export const plainKinds: readonly string[] = [
  ...Object.keys(behaviours),
  'handed over',
  'joined',
  'cancelled elsewhere',
];

const handedOverKey = 'dev.holdfast/handed-over';
/** After an answer, a host waits this long before it intentionally makes the same call again. */
const betweenCallsMs = 25_000;

interface Call {
  readonly program: Program;
  readonly behaviour: Behaviour;
  /** The answer with the task id. It is part of the conversation, which outlives the host. */
  handedOver?: JsonObject;
  isOver: boolean;
}

interface Reply {
  readonly result?: JsonObject;
  readonly error?: { readonly message: string };
}

/** The server does not know the session. */
class SessionGone extends Error {}

export class PlainCaller {
  readonly #fleet: Servers;
  readonly #owner: OwnerName;
  readonly #random: Random;
  readonly #name: string;
  readonly #count: (what: string) => void;
  readonly #calls: Call[] = [];
  /** Whether its client supports elicitation; otherwise its model answers with a tool. */
  readonly #canAnswer: boolean;
  #process: SimProcess;
  #session: Promise<string> | undefined;
  #sent = 0;
  #lives = 1;

  constructor(fleet: Servers, name: string, owner: OwnerName, count: (what: string) => void) {
    this.#fleet = fleet;
    this.#owner = owner;
    this.#random = fleet.world.random();
    this.#name = name;
    this.#count = count;
    this.#canAnswer = this.#random.chance(0.5);
    this.#process = fleet.world.process(name);
  }

  /** The calls that have not ended. */
  get open(): readonly string[] {
    return this.#calls.filter(({ isOver }) => !isOver).map(({ program }) => program.name);
  }

  start(calls: number): void {
    const { outside } = this.#fleet.world;
    for (let n = 0; n < calls; n++) {
      const program = randomProgram(this.#random, `${this.#name}${n}`, 1);
      const behaviour = this.#random.weighted(behaviours);
      const call: Call = { program, behaviour, isOver: false };
      this.#fleet.witness.isPlain(program.name);
      this.#calls.push(call);
      outside.setTimer(
        () => {
          this.#count(behaviour);
          this.#fleet.witness.note(`${program.name} is called by a client without tasks: ${behaviour}`);
          this.#run(call);
          if (behaviour === 'plain crash')
            outside.setTimer(() => this.#crash(), this.#random.between(1, 8_000));
        },
        this.#random.between(100, 15_000),
      );
    }
  }

  /** The host dies, and its successor repeats the calls that were open. */
  #crash(): void {
    this.#fleet.witness.note(`${this.#name} is killed`);
    this.#process.kill();
    this.#session = undefined;
    this.#process = this.#fleet.world.process(`${this.#name}${"'".repeat(this.#lives++)}`);
    for (const call of this.#started) if (!call.isOver) this.#run(call);
  }

  readonly #started = new Set<Call>();

  #run(call: Call): void {
    this.#started.add(call);
    this.#process.receive(() => {
      this.#complete(call).then(
        () => (call.isOver = true),
        (error) => {
          call.isOver = true;
          this.#fleet.witness.complain(`${call.program.name}: its caller got ${error?.stack ?? error}`);
        },
      );
    }, 1);
  }

  async #complete(call: Call): Promise<void> {
    const { program, behaviour } = call;
    const { plainCalls } = this.#fleet;
    if (behaviour === 'plain cancel') return this.#cancelled(program);
    const { server = '', trace = '' } = await this.#called(call);
    if (behaviour !== 'plain again') return;
    await pause(betweenCallsMs);
    const { witness } = this.#fleet;
    // A dead server may not have recorded that its answer was delivered.
    const wasAlive = plainCalls.isAlive(server);
    if (wasAlive && plainCalls.isJoinable(trace))
      witness.complain(`${program.name}: its answer was delivered, but its task can still be joined`);
    const mayJoin = plainCalls.hasLost(program.name);
    const before = plainCalls.rootsOf(program.name);
    delete call.handedOver;
    await this.#called(call);
    if (wasAlive && !mayJoin && plainCalls.rootsOf(program.name) === before)
      witness.complain(`${program.name}: called again on purpose, but did not run again`);
  }

  /** Sends the call until it is answered; returns the server and the trace of the answered call. */
  async #called(call: Call): Promise<{ readonly server?: string; readonly trace?: string }> {
    const { program } = call;
    const input = { program: program as unknown as JsonObject };
    let by: { readonly server?: string; readonly trace?: string } = {};
    if (!call.handedOver) {
      const answered = await this.#retry(program.name, () =>
        this.#tool('play', input, this.#callOf(program)),
      );
      const { reply, server, trace } = answered;
      by = { ...(server !== undefined && { server }), ...(trace !== undefined && { trace }) };
      if (taskIn(reply.result) === undefined) {
        this.#judge(program, reply);
        return by;
      }
      this.#count('handed over');
      call.handedOver = reply.result!;
    }
    const taskId = taskIn(call.handedOver)!;
    this.#fleet.witness.acknowledged(taskId, `was handed over to ${this.#name}`);
    this.#judge(program, await this.#followed(program.name, taskId, call.handedOver));
    return by;
  }

  /** Acts as a model: follows the task with the tools named in each answer. */
  async #followed(program: string, taskId: string, handedOver: JsonObject): Promise<Reply> {
    for (let shown = handedOver; ; ) {
      const { questions = [] } = shown.structuredContent as { questions?: readonly Asked[] };
      const answers = questions.flatMap(({ key, message, answer }) =>
        answer ? [[key, { action: 'accept', content: answerContent(message) }]] : [],
      );
      if (answers.length > 0)
        await this.#retry(program, () =>
          this.#tool('task_answer', { taskId, answers: Object.fromEntries(answers) }),
        );
      const { reply } = await this.#retry(program, () => this.#tool('task_wait', { taskId }));
      if (taskIn(reply.result) === undefined) return reply;
      shown = reply.result!;
    }
  }

  async #cancelled(program: Program): Promise<void> {
    const { witness } = this.#fleet;
    const id = this.#nextId();
    const input = { program: program as unknown as JsonObject };
    const answered = this.#tool('play', input, this.#callOf(program), id).catch(() => undefined);
    // Most calls end soon, and some last until the hand-over.
    await pause(this.#random.between(1, this.#random.chance(0.7) ? 1_000 : 6_000));
    witness.mayCancel(program.name);
    await this.#sendMessage({ method: 'notifications/cancelled', params: { requestId: id } }).catch(() => {});
    await Promise.race([answered, pause(30_000)]);
    // Nobody waits for it: it may have been handed over, or not have been cancelled.
    witness.isGivenUp(program.name, 'its caller cancelled it and left');
  }

  #judge(program: Program, { result, error }: Reply): void {
    const { witness } = this.#fleet;
    const expected = expectedOf(program);
    const text = (result?.content as readonly { text: string }[] | undefined)?.[0]?.text;
    const isRight = 'fails' in expected ? result?.isError === true : text === expected.result;
    if (!isRight)
      witness.complain(
        `${program.name}: its caller got ${text ?? error?.message} instead of ${JSON.stringify(expected)}`,
      );
  }

  // --- The wire -------------------------------------------------------------------------------------------

  /** Sends the call again after any failure. */
  async #retry(what: string, act: () => Promise<Answered>): Promise<Answered> {
    for (let tries = 0; ; tries++) {
      try {
        const answered = await act();
        const { error } = answered.reply;
        if (!error || !/store|available|recorded|again/i.test(error.message) || tries > 200) return answered;
        this.#fleet.witness.note(`${what}: its caller received ${error.message}`);
      } catch (error) {
        this.#fleet.witness.note(`${what}: its caller lost its connection: ${error}`);
        if (error instanceof SessionGone) this.#session = undefined;
        if (tries > 200) throw error;
      }
      await pause(this.#random.between(500, 4_000));
    }
  }

  async #tool(
    name: string,
    input: JsonObject,
    headers: Readonly<Record<string, string>> = {},
    id = this.#nextId(),
  ): Promise<Answered> {
    const params = { name, arguments: input, _meta: { progressToken: id } };
    const response = await this.#post({ id, method: 'tools/call', params }, headers);
    const server = response.headers.get(answeredBy) ?? undefined;
    return { server, trace: headers.traceparent, reply: await this.#replyTo(id, response) };
  }

  /** The trace identifies the task that is created for the call. */
  #callOf({ name }: Program): Record<string, string> {
    const id = this.#random.bytes(24).toString('hex');
    return { [callHeader]: name, traceparent: `00-${id.slice(0, 32)}-${id.slice(32)}-00` };
  }

  #nextId(): number {
    return ++this.#sent;
  }

  async #replyTo(id: number, response: Response): Promise<Reply> {
    if (response.status === 404) throw new SessionGone();
    if (response.headers.get('content-type')?.startsWith('application/json'))
      return (await response.json()) as Reply;
    if (!response.body) throw new Error(`status ${response.status}`);
    for await (const { data } of readEvents(response.body)) {
      const message = JSON.parse(data) as Reply & { id?: unknown; method?: string; params?: Asked };
      if (message.method === 'elicitation/create') this.#answer(message.id, message.params!.message);
      else if (message.id === id) return message;
    }
    throw new Error('the stream ended without an answer');
  }

  #answer(id: unknown, message: string): void {
    const result = { action: 'accept', content: answerContent(message) };
    void pause(this.#random.between(1, 3_000))
      .then(() => this.#sendMessage({ id, result } as JsonObject))
      .catch(() => {});
  }

  async #sendMessage(message: JsonObject): Promise<void> {
    await (await this.#post(message)).body?.cancel();
  }

  async #post(message: JsonObject, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    this.#session ??= this.#opened();
    const session = await this.#session.catch((error) => {
      this.#session = undefined;
      throw error;
    });
    return this.#send(message, { 'mcp-session-id': session, ...headers });
  }

  async #opened(): Promise<string> {
    const capabilities = this.#canAnswer ? { elicitation: {} } : {};
    const clientInfo = { name: this.#name, version: '1' };
    const params = { protocolVersion: '2025-06-18', capabilities, clientInfo };
    const response = await this.#send({ id: this.#nextId(), method: 'initialize', params });
    const session = response.headers.get('mcp-session-id');
    await response.text();
    if (session === null) throw new Error(`no session: status ${response.status}`);
    const opened = await this.#send(
      { method: 'notifications/initialized' },
      { 'mcp-session-id': session, 'mcp-protocol-version': '2025-06-18' },
    );
    await opened.body?.cancel();
    return session;
  }

  #send(message: JsonObject, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return this.#fleet.network.fetchOf(this.#process)('http://localhost/mcp', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${tokens[this.#owner]}`,
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    });
  }
}

interface Answered {
  readonly reply: Reply;
  readonly server: string | undefined;
  readonly trace: string | undefined;
}

interface Asked {
  readonly key: string;
  readonly message: string;
  readonly answer?: JsonObject;
}

/** The task id in an answer; undefined if the answer is the tool's own result. */
function taskIn(result: JsonObject | undefined): string | undefined {
  const meta = result?._meta as Record<string, { taskId: string }> | undefined;
  return result?.isError ? undefined : meta?.[handedOverKey]?.taskId;
}

function answerContent(message: string): JsonObject {
  const [name = '', , key = ''] = message.split(' ');
  return { answer: answerTo(name, key) };
}
