/** Callers of several owners and dialects: each a process with a real client, and a registry of handles that outlives it. */
import { Client } from '@modelcontextprotocol/client';
import { httpTransport } from '../src/client/http.ts';
import {
  connectTasks,
  memoryHandles,
  TaskCancelled,
  type TaskClient,
  type TaskHandle,
} from '../src/client.ts';
import { pause } from '../src/model/runtime.ts';
import { type Fleet, type OwnerName, tokens } from './fleet.ts';
import { answerTo, expectedOf, type Program, randomProgram } from './programs.ts';
import type { Random } from './random.ts';
import type { SimProcess } from './world.ts';

export const speeches = ['2026-07-28', '2025-11-25', 'drafts', 'sep-1686'] as const;
export type Speech = (typeof speeches)[number];

const manners = { wait: 50, cancel: 15, crash: 12, 'come back': 12, 'call twice': 11 } as const;
export type Manner = keyof typeof manners;
export const mannerKinds = Object.keys(manners) as Manner[];

export class Caller {
  readonly #fleet: Fleet;
  readonly #owner: OwnerName;
  readonly #speech: Speech;
  readonly #random: Random;
  readonly #name: string;
  readonly #handles = memoryHandles();
  readonly #count: (what: string) => void;
  #process: SimProcess;
  #connected: Promise<TaskClient> | undefined;
  /** Calls that are not over. */
  open = 0;

  constructor(fleet: Fleet, name: string, owner: OwnerName, speech: Speech, count: (what: string) => void) {
    this.#fleet = fleet;
    this.#owner = owner;
    this.#speech = speech;
    this.#random = fleet.world.random();
    this.#name = name;
    this.#count = count;
    this.#process = fleet.world.process(name);
  }

  /** Makes so many calls, one after the other, and sees each to its end. */
  start(calls: number): void {
    this.open = calls;
    for (let n = 0; n < calls; n++) {
      const program = randomProgram(this.#random, `${this.#name}${n}`);
      const manner = this.#random.weighted(manners);
      const at = this.#random.between(100, 40_000);
      this.#fleet.world.outside.setTimer(() => this.#begin(program, manner), at);
    }
  }

  #begin(program: Program, manner: Manner): void {
    this.#count(manner);
    this.#count(this.#speech);
    this.#process.receive(() => {
      this.#see(program, manner)
        .catch((error) =>
          this.#fleet.witness.complain(`${program.name}: its caller got ${error?.stack ?? error}`),
        )
        .finally(() => this.open--);
    }, 1);
  }

  async #see(program: Program, manner: Manner): Promise<void> {
    const { witness } = this.#fleet;
    const handle = await this.#insist(program.name, async (tasks) =>
      tasks.call(
        'play',
        { program: program as never },
        { idempotencyKey: `key of ${program.name} 0123456789` },
      ),
    );
    const { taskId } = handle;
    const id = taskId === undefined ? undefined : this.#storedId(program, taskId);
    if (id !== undefined) witness.acknowledged(id, `was acknowledged to ${this.#name}`);
    if (manner === 'cancel') {
      await pause(this.#random.between(1, 20_000));
      if (id !== undefined) witness.mayCancel(id);
      await handle.cancel().catch(() => {});
    }
    const result = await this.#result(program, handle, manner);
    const expected = expectedOf(program);
    if (result === 'cancelled') {
      if (manner !== 'cancel') witness.complain(`${program.name}: its caller was told that it is cancelled`);
      return;
    }
    const text = (result.content as readonly { text: string }[])[0]?.text;
    if ('fails' in expected ? !result.isError : text !== expected.result)
      witness.complain(`${program.name}: its caller got ${text} instead of ${JSON.stringify(expected)}`);
  }

  async #result(program: Program, handle: TaskHandle, manner: Manner) {
    if (manner === 'come back') {
      await pause(this.#random.between(1, 60_000));
      handle.detach();
      const record = handle.id;
      const again = await this.#insist(program.name, (tasks) => tasks.resume(record));
      return again.result().catch(cancelledOnly);
    }
    return handle.result().catch(cancelledOnly);
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
    const client = new Client(
      { name: this.#name, version: '1' },
      this.#speech === '2026-07-28' ? { versionNegotiation: { mode: 'auto' } } : {},
    );
    const headers = { authorization: `Bearer ${tokens[this.#owner]}` };
    const process = this.#process;
    this.#connected ??= connectTasks(
      client,
      () =>
        httpTransport(new URL('http://localhost/mcp'), { headers }, undefined, () =>
          this.#fleet.network.fetchOf(process),
        ),
      {
        handles: this.#handles,
        server: 'simulated',
        answer: async (question) => {
          await pause(this.#random.between(1, 10_000));
          if (question.kind !== 'form') throw new Error(`Nobody asks ${question.kind}.`);
          // Not the key: it travels in other forms in some dialects.
          const [name = '', , key = ''] = question.message.split(' ');
          return { action: 'accept', content: { answer: answerTo(name, key) } };
        },
        ...(this.#speech === 'drafts' && { drafts: 'all' as const }),
        ...(this.#speech === 'sep-1686' && { dialect: 'sep-1686' as const }),
        pace: { floorMs: 3_000 },
      },
    ).catch((error) => {
      this.#connected = undefined;
      throw error;
    });
    return this.#connected;
  }

  /** As the store knows the task: where requestors name tasks, only the program tells. */
  #storedId({ name }: Program, taskId: string): string | undefined {
    if (this.#speech !== 'sep-1686') return taskId;
    return [...this.#fleet.witness.names].find(([, program]) => program === name)?.[0];
  }
}

function cancelledOnly(error: unknown): 'cancelled' {
  if (error instanceof TaskCancelled) return 'cancelled';
  throw error;
}
