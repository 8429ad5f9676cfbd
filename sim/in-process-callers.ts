/**
 * Callers without a connection: code in the servers that creates tasks and answers their questions, and operators.
 */

import { Refusal } from '../src/model/errors.ts';
import { openInputs, type Task, type TaskId } from '../src/model/task.ts';
import { Operator } from '../src/operator/operator.ts';
import { answerTo, expectedOf, type Program, randomProgram } from './programs.ts';
import type { Random } from './random.ts';
import type { Servers, SimServer } from './servers.ts';

const owner = 'insider';
const acts = { create: 40, hurry: 5, 'create again': 10, cancel: 6, retry: 8, purge: 8, read: 4 } as const;
type Act = keyof typeof acts;
export const actKinds: readonly string[] = Object.keys(acts);

export class InProcessCallers {
  readonly #fleet: Servers;
  readonly #random: Random;
  readonly #count: (what: string) => void;
  readonly #created: { readonly program: Program; id?: TaskId }[] = [];

  constructor(fleet: Servers, count: (what: string) => void) {
    this.#fleet = fleet;
    this.#random = fleet.world.random();
    this.#count = count;
  }

  start(times: number): void {
    const { outside } = this.#fleet.world;
    for (let n = 0; n < times; n++) {
      const act = this.#random.weighted(acts);
      outside.setTimer(() => this.#do(act), this.#random.between(100, 15_000));
    }
    outside.setTimer(() => this.#answer(), 1_500, true);
  }

  /** Runs an action in a random live server. Errors are ignored. */
  #inside(what: string, act: (server: SimServer) => Promise<unknown>): void {
    const { servers, witness } = this.#fleet;
    const alive = servers.filter(({ process, tasks }) => tasks && !process.isDead);
    if (alive.length === 0) return;
    const server = this.#random.pick(alive);
    server.process.receive(() => {
      if (!server.tasks) return;
      this.#count(what);
      act(server).catch((error) => witness.note(`${what}: ${error}`));
    }, 1);
  }

  #do(act: Act): void {
    const { witness } = this.#fleet;
    switch (act) {
      case 'create': {
        const program = randomProgram(this.#random, `insider${this.#created.length}`);
        const created = { program };
        this.#created.push(created);
        return this.#inside(act, (server) => this.#create(server, created));
      }
      case 'hurry':
        return this.#inside(act, async ({ tasks }) => {
          const { id } = await tasks!.create('hurry', {}, { owner });
          witness.acknowledged(id, 'was created by an insider');
        });
      case 'create again':
        if (this.#created.length === 0) return;
        return this.#inside(act, (server) => this.#create(server, this.#random.pick(this.#created)));
      case 'cancel': {
        const task = this.#pick(({ phase }) => phase !== 'done');
        if (!task) return;
        return this.#inside(act, async ({ tasks }) => {
          witness.mayCancel(task.id);
          await tasks!.cancel(task.id);
          witness.acknowledged(task.id, 'was cancelled by an insider', ({ phase }) => phase === 'done');
        });
      }
      case 'retry': {
        const task = this.#pick(({ phase }) => phase === 'done');
        if (!task) return;
        return this.#inside(act, async ({ tasks }) => {
          const again = await new Operator(tasks!).retry(task.id).catch(refusedOnly);
          if (again) witness.acknowledged(again.id, 'was created by a retry');
        });
      }
      case 'purge': {
        const task = this.#pick(() => true);
        if (!task) return;
        // The witness checks that the task was done.
        return this.#inside(act, ({ tasks }) => new Operator(tasks!).purge(task.id).catch(refusedOnly));
      }
      case 'read':
        return this.#inside(act, async ({ tasks }) => {
          const operator = new Operator(tasks!, { viewer: { owner } });
          const { tasks: listed } = await operator.list({ limit: 20 });
          for (const { id } of listed)
            if ((witness.tasks.get(id)?.owner ?? owner) !== owner)
              witness.complain(`${id}: shown to another owner`);
          const [first] = listed;
          if (first) await operator.details(first.id);
          await operator.overview({ windowMs: 3_600_000 });
        });
    }
  }

  async #create({ tasks }: SimServer, created: { readonly program: Program; id?: TaskId }): Promise<void> {
    const { witness } = this.#fleet;
    const { program } = created;
    const idempotencyKey = `key of ${program.name}`;
    const { id } = await tasks!.create('play', { program }, { owner, idempotencyKey });
    if (created.id !== undefined && created.id !== id && witness.tasks.has(created.id))
      witness.complain(`${program.name}: created twice with one key`);
    created.id = id;
    witness.acknowledged(id, 'was created by an insider');
    const outcome = await tasks!.outcome(id);
    const expected = expectedOf(program);
    if (outcome.kind !== 'result' || !('result' in expected)) return;
    const { content } = outcome.value as unknown as { content: readonly { text: string }[] };
    if (content[0]?.text !== expected.result)
      witness.complain(`${program.name}: its creator got ${content[0]?.text}`);
  }

  /** Answers the questions of insiders' tasks. */
  #answer(): void {
    const { witness } = this.#fleet;
    for (const task of witness.tasks.values()) {
      if (task.owner !== owner || task.phase === 'done') continue;
      const program = witness.programOf(task.id);
      for (const { key } of openInputs(task))
        if (program !== undefined)
          this.#inside('answer', async ({ tasks }) => {
            const answers = {
              [key]: { action: 'accept', content: { answer: answerTo(program, key) } },
            } as const;
            await tasks!.answer(task.id, answers);
            witness.acknowledged(task.id, `was answered ${key}`, ({ inputs }) =>
              inputs.some((input) => input.key === key && input.state !== 'open'),
            );
            // Sends the same answer again, too late.
            if (this.#random.chance(0.3)) await tasks!.answer(task.id, answers).catch(refusedOnly);
          });
    }
  }

  #pick(which: (task: Task) => boolean): Task | undefined {
    const roots = [...this.#fleet.witness.tasks.values()].filter(
      (task) => task.owner === owner && task.parentId === undefined && which(task),
    );
    return roots.length > 0 ? this.#random.pick(roots) : undefined;
  }
}

/** Refusals by the rules are expected. */
function refusedOnly(error: unknown): undefined {
  if (error instanceof Refusal) return undefined;
  throw error;
}
