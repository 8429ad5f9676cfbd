/** Callers of several owners and dialects: each a process with a real client, and a registry of handles that outlives it. */
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

export const speeches = ['2026-07-28', '2025-11-25', 'drafts', 'sep-1686'] as const;
export type Speech = (typeof speeches)[number];

const manners = { wait: 45, cancel: 15, 'come back': 15, 'call twice': 15, crash: 10 } as const;
export type Manner = keyof typeof manners;
/** What the simulation counts of calls. */
export const callKinds: readonly string[] = [...Object.keys(manners), ...speeches];

const live = new Set(['submitted', 'working', 'input_required', 'unknown']);

interface Call {
  readonly program: Program;
  readonly manner: Manner;
  readonly key: string;
  isOver: boolean;
}

export class Caller {
  readonly #fleet: Servers;
  readonly #owner: OwnerName;
  readonly #speech: Speech;
  readonly #random: Random;
  readonly #name: string;
  /** On its disk, as it were. */
  readonly #handles = memoryCallRegistry();
  readonly #count: (what: string) => void;
  readonly #calls: Call[] = [];
  #process: SimProcess;
  #connected: Promise<TaskClient> | undefined;
  #lives = 1;

  constructor(fleet: Servers, name: string, owner: OwnerName, speech: Speech, count: (what: string) => void) {
    this.#fleet = fleet;
    this.#owner = owner;
    this.#speech = speech;
    this.#random = fleet.world.random();
    this.#name = name;
    this.#count = count;
    this.#process = fleet.world.process(name);
  }

  /** The calls that are not over. */
  get open(): readonly string[] {
    return this.#calls.filter(({ isOver }) => !isOver).map(({ program }) => program.name);
  }

  /** Makes so many calls, and sees each to its end. */
  start(calls: number): void {
    for (let n = 0; n < calls; n++) {
      const program = randomProgram(this.#random, `${this.#name}${n}`);
      const drawn = this.#random.weighted(manners);
      // A host that dies loses its session, and in SEP-1686 its tasks with it.
      const manner = drawn === 'crash' && this.#speech === 'sep-1686' ? 'wait' : drawn;
      const call: Call = { program, manner, key: `key of ${program.name} 0123456789`, isOver: false };
      this.#calls.push(call);
      const { outside } = this.#fleet.world;
      outside.setTimer(
        () => {
          this.#count(manner);
          this.#count(this.#speech);
          this.#fleet.witness.note(`${program.name} is called in ${this.#speech}: ${manner}`);
          this.#see(call);
          if (manner === 'crash') outside.setTimer(() => this.#crash(), this.#random.between(1, 10_000));
        },
        this.#random.between(100, 15_000),
      );
    }
  }

  /** The host dies, and its successor takes up what it had begun. */
  #crash(): void {
    this.#fleet.witness.note(`${this.#name} is killed`);
    const begun = this.#seen;
    this.#process.kill();
    this.#connected = undefined;
    this.#process = this.#fleet.world.process(`${this.#name}${"'".repeat(this.#lives++)}`);
    this.#seen = new Set();
    for (const call of begun) if (!call.isOver) this.#see(call);
  }

  #seen = new Set<Call>();

  #see(call: Call): void {
    this.#seen.add(call);
    this.#process.receive(() => {
      this.#toTheEnd(call).then(
        () => (call.isOver = true),
        (error) => {
          call.isOver = true;
          this.#fleet.witness.complain(`${call.program.name}: its caller got ${error?.stack ?? error}`);
        },
      );
    }, 1);
  }

  async #toTheEnd(call: Call): Promise<void> {
    const { program, manner } = call;
    const { witness } = this.#fleet;
    const handle = await this.#begin(call);
    // How it ends is told by its result.
    this.#follow(handle, program.name).catch(() => {});
    if (manner === 'cancel') {
      await pause(this.#random.between(1, 12_000));
      witness.mayCancel(program.name);
      await handle.cancel().catch(() => {});
    }
    if (manner === 'call twice' && this.#speech !== 'sep-1686') {
      const other = await this.#insist(program.name, (tasks) => this.#call(tasks, call));
      // Either may be under way still.
      if (handle.taskId !== undefined && other.taskId !== undefined && other.taskId !== handle.taskId)
        witness.complain(`${program.name}: called twice with one key, it is two tasks`);
    }
    let result: JsonObject;
    try {
      result = await this.#result(handle, manner);
    } catch (error) {
      if (error instanceof TaskCancelled) {
        if (manner !== 'cancel')
          witness.complain(`${program.name}: its caller was told that it is cancelled`);
        return;
      }
      // Where the name of a task is the caller's, an error is an answer to the call, and nothing was promised.
      if (error instanceof RemoteError && this.#speech === 'sep-1686') {
        witness.isGivenUp(program.name, `its caller was told ${error}`);
        return;
      }
      // Nothing was promised: it never got through, or the caller is told to try again.
      const isBusy = error instanceof RemoteError && /store is not available|is corrupt/.test(error.message);
      if (isBusy || !witness.hasPlayed(program.name)) {
        witness.note(`${program.name}: its caller was told ${error}`);
        this.#handles.delete(handle.id);
        await pause(1_000);
        return this.#toTheEnd(call);
      }
      throw error;
    }
    const expected = expectedOf(program);
    const text = (result.content as readonly { text: string }[])[0]?.text;
    if ('fails' in expected ? !result.isError : text !== expected.result)
      witness.complain(`${program.name}: its caller got ${text} instead of ${JSON.stringify(expected)}`);
  }

  /** What a host shows of it: a task that has ended stays so, and has really ended. */
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

  /** The handle of a call that was begun before, or of a new one. */
  async #begin(call: Call): Promise<TaskHandle> {
    const { program, key } = call;
    const record = this.#handles.list().find(({ idempotencyKey }) => idempotencyKey === key);
    if (record) return this.#insist(program.name, (tasks) => tasks.resume(record.id));
    const handle = await this.#insist(program.name, (tasks) => this.#call(tasks, call));
    if (handle.taskId !== undefined && this.#speech !== 'sep-1686')
      this.#fleet.witness.acknowledged(handle.taskId, `was acknowledged to ${this.#name}`);
    return handle;
  }

  #call(tasks: TaskClient, { program, key }: Call): Promise<TaskHandle> {
    return tasks.call('play', { program: program as never }, { idempotencyKey: key });
  }

  async #result(handle: TaskHandle, manner: Manner): Promise<JsonObject> {
    if (manner !== 'come back') return handle.result();
    // Until the server has reported the task, a host that resumes it may be too early.
    if (this.#speech === 'sep-1686')
      for await (const { type } of handle.updates()) if (type === 'status') break;
    await pause(this.#random.between(1, 10_000));
    handle.detach();
    const again = await this.#insist(this.#name, (tasks) => tasks.resume(handle.id));
    return again.result();
  }

  /** Whoever cannot reach the server tries again: nothing was promised yet. */
  async #insist<T>(what: string, act: (tasks: TaskClient) => Promise<T>): Promise<T> {
    for (let tries = 0; ; tries++) {
      try {
        return await act(await this.#connect());
      } catch (error) {
        this.#fleet.witness.note(`${what}: its caller was told ${error}`);
        if (tries > 200) throw error;
        await pause(this.#random.between(500, 5_000));
      }
    }
  }

  #connect(): Promise<TaskClient> {
    const isModern = this.#speech === '2026-07-28';
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
        if (question.kind !== 'form') throw new Error(`Nobody asks ${question.kind}.`);
        // Not the key: it travels in other forms in some dialects.
        const [name = '', , key = ''] = question.message.split(' ');
        return { action: 'accept', content: { answer: answerTo(name, key) } };
      },
      ...(this.#speech === 'drafts' && { drafts: 'all' as const }),
      ...(this.#speech === 'sep-1686' && { dialect: 'sep-1686' as const }),
      pace: { floorMs: 5_000 },
    }).catch((error) => {
      this.#connected = undefined;
      throw error;
    });
    return this.#connected;
  }
}
