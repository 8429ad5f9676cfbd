/** Callers of several owners and dialects, each a process with a real client and a persistent call registry. */
import { Client } from '@modelcontextprotocol/client';
import { httpTransport } from '../src/client/transports/http.ts';
import {
  connectTasks,
  memoryCallRegistry,
  TaskCancelled,
  type TaskClient,
  type TaskHandle,
} from '../src/client.ts';
import type { JsonObject } from '../src/model/json.ts';
import type { TaskId } from '../src/model/task.ts';
import { RemoteError } from '../src/remote-tasks/errors.ts';
import { pause } from '../src/runtime/runtime.ts';
import { answerTo, expectedOf, type Program, randomProgram } from './programs.ts';
import type { Random } from './random.ts';
import { type OwnerName, type Servers, tokens } from './servers.ts';
import type { SimProcess } from './world.ts';

export const dialects = ['2026-07-28', '2025-11-25', 'drafts', 'sep-1686'] as const;
export type Dialect = (typeof dialects)[number];

const behaviours = { wait: 45, cancel: 15, 'come back': 15, 'call twice': 15, crash: 10 } as const;
export type Behaviour = keyof typeof behaviours;
/** The kinds of calls that the simulation counts. */
export const callKinds: readonly string[] = [...Object.keys(behaviours), ...dialects];

const live = new Set(['submitted', 'working', 'input_required', 'unknown']);

interface Call {
  readonly program: Program;
  readonly behaviour: Behaviour;
  readonly key: string;
  isOver: boolean;
}

export class Caller {
  readonly #fleet: Servers;
  readonly #owner: OwnerName;
  readonly #dialect: Dialect;
  readonly #random: Random;
  readonly #name: string;
  /** Survives crashes, like a file. */
  readonly #handles = memoryCallRegistry();
  readonly #count: (what: string) => void;
  readonly #calls: Call[] = [];
  #process: SimProcess;
  #connected: Promise<TaskClient> | undefined;
  #lives = 1;

  constructor(
    fleet: Servers,
    name: string,
    owner: OwnerName,
    dialect: Dialect,
    count: (what: string) => void,
  ) {
    this.#fleet = fleet;
    this.#owner = owner;
    this.#dialect = dialect;
    this.#random = fleet.world.random();
    this.#name = name;
    this.#count = count;
    this.#process = fleet.world.process(name);
  }

  /** The calls that have not ended. */
  get open(): readonly string[] {
    return this.#calls.filter(({ isOver }) => !isOver).map(({ program }) => program.name);
  }

  /** Makes `calls` calls and follows each to its end. */
  start(calls: number): void {
    for (let n = 0; n < calls; n++) {
      const program = randomProgram(this.#random, `${this.#name}${n}`);
      const drawn = this.#random.weighted(behaviours);
      // A host that dies loses its session, and with SEP-1686 also its tasks.
      const behaviour = drawn === 'crash' && this.#dialect === 'sep-1686' ? 'wait' : drawn;
      const call: Call = { program, behaviour, key: `key of ${program.name} 0123456789`, isOver: false };
      this.#calls.push(call);
      const { outside } = this.#fleet.world;
      outside.setTimer(
        () => {
          this.#count(behaviour);
          this.#count(this.#dialect);
          this.#fleet.witness.note(`${program.name} is called in ${this.#dialect}: ${behaviour}`);
          this.#run(call);
          if (behaviour === 'crash') outside.setTimer(() => this.#crash(), this.#random.between(1, 10_000));
        },
        this.#random.between(100, 15_000),
      );
    }
  }

  /** The host dies, and its successor resumes the calls that it had started. */
  #crash(): void {
    this.#fleet.witness.note(`${this.#name} is killed`);
    const started = this.#started;
    this.#process.kill();
    this.#connected = undefined;
    this.#process = this.#fleet.world.process(`${this.#name}${"'".repeat(this.#lives++)}`);
    this.#started = new Set();
    for (const call of started) if (!call.isOver) this.#run(call);
  }

  #started = new Set<Call>();

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
    const { witness } = this.#fleet;
    const handle = await this.#start(call);
    // Its outcome comes from its result.
    this.#follow(handle, program.name).catch(() => {});
    if (behaviour === 'cancel') {
      await pause(this.#random.between(1, 12_000));
      witness.mayCancel(program.name);
      await handle.cancel().catch(() => {});
    }
    if (behaviour === 'call twice' && this.#dialect !== 'sep-1686') {
      const other = await this.#retry(program.name, (tasks) => this.#call(tasks, call));
      // Either may still be in progress.
      if (handle.taskId !== undefined && other.taskId !== undefined && other.taskId !== handle.taskId)
        witness.complain(`${program.name}: called twice with one key, it is two tasks`);
    }
    let result: JsonObject;
    try {
      result = await this.#result(handle, behaviour);
    } catch (error) {
      if (error instanceof TaskCancelled) {
        if (behaviour !== 'cancel')
          witness.complain(`${program.name}: its caller was notified of a cancellation`);
        return;
      }
      // In SEP-1686 the caller chooses the task id, so an error answers the call and promises nothing.
      if (error instanceof RemoteError && this.#dialect === 'sep-1686') {
        witness.isGivenUp(program.name, `its caller received ${error}`);
        return;
      }
      // Nothing was promised: the call never arrived, or the caller should try again.
      const isBusy = error instanceof RemoteError && /store is not available|is corrupt/.test(error.message);
      if (isBusy || !witness.hasPlayed(program.name)) {
        witness.note(`${program.name}: its caller received ${error}`);
        this.#handles.delete(handle.id);
        await pause(1_000);
        return this.#complete(call);
      }
      throw error;
    }
    const expected = expectedOf(program);
    const text = (result.content as readonly { text: string }[])[0]?.text;
    if ('fails' in expected ? !result.isError : text !== expected.result)
      witness.complain(`${program.name}: its caller got ${text} instead of ${JSON.stringify(expected)}`);
  }

  /** Follows the status as a host does: an ended task must stay ended, and must really have ended. */
  async #follow(handle: TaskHandle, program: string): Promise<void> {
    const { witness } = this.#fleet;
    const ended = new Map<TaskId, string>();
    for await (const update of handle.updates()) {
      if (update.type !== 'status') continue;
      const { taskId, status } = update.task;
      const before = ended.get(taskId) ?? status;
      if (status !== before) witness.complain(`${program}: its caller saw ${status} after ${before}`);
      if (live.has(status)) continue;
      ended.set(taskId, status);
      const task = witness.tasks.get(taskId);
      if (task && task.phase !== 'done') witness.complain(`${program}: its caller saw ${status} too early`);
    }
  }

  /** The handle of a call that was started before, or of a new one. */
  async #start(call: Call): Promise<TaskHandle> {
    const { program, key } = call;
    const record = this.#handles.list().find(({ idempotencyKey }) => idempotencyKey === key);
    if (record) return this.#retry(program.name, (tasks) => tasks.resume(record.id));
    const handle = await this.#retry(program.name, (tasks) => this.#call(tasks, call));
    if (handle.taskId !== undefined && this.#dialect !== 'sep-1686')
      this.#fleet.witness.acknowledged(handle.taskId, `was acknowledged to ${this.#name}`);
    return handle;
  }

  #call(tasks: TaskClient, { program, key }: Call): Promise<TaskHandle> {
    return tasks.call('play', { program: program as never }, { idempotencyKey: key });
  }

  async #result(handle: TaskHandle, behaviour: Behaviour): Promise<JsonObject> {
    if (behaviour !== 'come back') return handle.result();
    // Until the server has reported the task, a host that resumes it may be too early.
    if (this.#dialect === 'sep-1686')
      for await (const { type } of handle.updates()) if (type === 'status') break;
    await pause(this.#random.between(1, 10_000));
    handle.detach();
    const again = await this.#retry(this.#name, (tasks) => tasks.resume(handle.id));
    return again.result();
  }

  /** Retries until the server is reached: nothing was promised yet. */
  async #retry<T>(what: string, act: (tasks: TaskClient) => Promise<T>): Promise<T> {
    for (let tries = 0; ; tries++) {
      try {
        return await act(await this.#connect());
      } catch (error) {
        this.#fleet.witness.note(`${what}: its caller received ${error}`);
        if (tries > 200) throw error;
        await pause(this.#random.between(500, 5_000));
      }
    }
  }

  #connect(): Promise<TaskClient> {
    const isModern = this.#dialect === '2026-07-28';
    const client = new Client(
      { name: this.#name, version: '1' },
      isModern ? { versionNegotiation: { mode: 'auto' } } : {},
    );
    const headers = { authorization: `Bearer ${tokens[this.#owner]}` };
    const fetch = this.#fleet.network.fetchOf(this.#process);
    const transport = () =>
      httpTransport(new URL('http://localhost/mcp'), { headers }, undefined, () => fetch);
    this.#connected ??= connectTasks(client, transport, {
      registry: this.#handles,
      server: 'simulated',
      answer: async (question) => {
        this.#fleet.witness.note(
          `${this.#name} is asked "${'message' in question ? question.message : question.kind}"`,
        );
        await pause(this.#random.between(1, 5_000));
        if (question.kind !== 'form') throw new Error(`Unexpected question: ${question.kind}.`);
        // Not the key of the question, because some dialects change it.
        const [name = '', , key = ''] = question.message.split(' ');
        return { action: 'accept', content: { answer: answerTo(name, key) } };
      },
      ...(this.#dialect === 'drafts' && { drafts: 'all' as const }),
      ...(this.#dialect === 'sep-1686' && { dialect: 'sep-1686' as const }),
      pace: { floorMs: 5_000 },
    }).catch((error) => {
      this.#connected = undefined;
      throw error;
    });
    return this.#connected;
  }
}
