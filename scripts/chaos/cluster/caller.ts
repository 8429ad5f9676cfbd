/**
 * A client with one errand. Each of its requests goes to any of the servers, and is sent again, to any of them, until
 * it is answered: it is made for servers that die. What it asks and is told goes into the history; it judges nothing.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { JsonObject, TaskId } from '../../../src/index.ts';
import { newId } from '../../../src/model/id.ts';
import type { Random } from '../../../test/kit/random.ts';
import { type Peer, Refused, type Stream } from '../../../test/techniques/load/peer.ts';
import { progressOf, type WireTask } from '../../../test/techniques/load/protocol.ts';
import { type HistoryFile, moment, type Seen } from './history.ts';
import type { Members } from './members.ts';

const answeredWithinMs = 8_000;
const patienceMs = 240_000;
const notFound = -32_602;
/** How long a subscription that is still open is given to tell of the end. */
const toldWithinMs = 6_000;

export interface Plan {
  readonly key: string;
  readonly input: JsonObject;
  /** Listens instead of polling often. */
  readonly listens: boolean;
  /** Cancels when so much time has passed. */
  readonly cancelsAfterMs?: number;
}

interface Parts {
  readonly members: Members;
  readonly history: HistoryFile;
  readonly random: Random;
  readonly plan: Plan;
}

let streams = 0;

export class Caller {
  task: TaskId | undefined;
  isDone = false;
  readonly #parts: Parts;
  readonly #said = new Map<string, string>();
  readonly #acknowledged = new Set<string>();
  readonly #over = new AbortController();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** From the order to the end of the task; or until it has no patience any more, or the run is over. */
  async run(): Promise<void> {
    await this.#run().catch(() => {});
  }

  async #run(): Promise<void> {
    const { key, input, listens, cancelsAfterMs } = this.#parts.plan;
    this.#parts.history.add({ what: 'ordered', key, at: moment() });
    const task = await this.#insist(async (peer, request, signal) => {
      const { taskId } = await peer.call('chaos_errand', input, signal, key);
      this.#parts.history.add({ what: 'created', key, task: taskId, ...request(moment()) });
      return taskId;
    });
    if (task === undefined) return;
    this.task = task;
    const listening = listens ? this.#listen(task) : undefined;
    const cancelling = cancelsAfterMs === undefined ? undefined : this.#cancelAfter(task, cancelsAfterMs);
    await this.#pursue(task);
    await cancelling;
    this.isDone = true;
    if (listening) await Promise.race([listening, pause(toldWithinMs, undefined, { ref: false })]);
    this.#over.abort();
    await listening;
  }

  /** Looks once at each server. */
  async lookEverywhere(): Promise<void> {
    if (this.task === undefined) return;
    for (const { name, peer } of this.#parts.members.of('server'))
      if (peer)
        await this.#look(this.task, name, peer, AbortSignal.timeout(answeredWithinMs)).catch(() => {});
  }

  async #pursue(task: TaskId): Promise<void> {
    const { random, plan } = this.#parts;
    const started = moment();
    while (moment() - started < patienceMs) {
      const { name, peer } = await this.#parts.members.anyServer(random);
      const seen = await this.#look(task, name, peer, AbortSignal.timeout(answeredWithinMs)).catch(
        () => undefined,
      );
      if (seen && hasEnded(seen)) return;
      await Promise.all((seen?.questions ?? []).map((question) => this.#answer(task, question)));
      await pause(plan.listens ? random.between(400, 1_200) : random.between(60, 400));
    }
  }

  async #look(task: TaskId, server: string, peer: Peer, signal: AbortSignal): Promise<Seen | undefined> {
    const from = moment();
    try {
      const seen = seenIn(await peer.get(task, signal));
      this.#parts.history.add({ what: 'looked', task, from, at: moment(), server, seen });
      return seen;
    } catch (error) {
      if (error instanceof Refused && error.code === notFound)
        this.#parts.history.add({ what: 'looked', task, from, at: moment(), server, seen: null });
      throw error;
    }
  }

  /** Whatever comes of it, a question is only ever given the same answer. */
  async #answer(task: TaskId, question: string): Promise<void> {
    if (this.#acknowledged.has(question)) return;
    const { history, random } = this.#parts;
    await pause(random.between(0, 300));
    const words = this.#said.get(question) ?? `aye-${newId().slice(0, 10)}`;
    this.#said.set(question, words);
    const response = { [question]: { action: 'accept', content: { words } } };
    await this.#insist(async (peer, request, signal) => {
      try {
        await peer.update(task, response, signal);
      } catch (error) {
        history.add({ what: 'answered', task, question, words, ...request(null) });
        throw error;
      }
      history.add({ what: 'answered', task, question, words, ...request(moment()) });
      this.#acknowledged.add(question);
    });
  }

  async #cancelAfter(task: TaskId, ms: number): Promise<void> {
    const { history } = this.#parts;
    await pause(ms);
    await this.#insist(async (peer, request, signal) => {
      try {
        await peer.cancel(task, signal);
      } catch (error) {
        history.add({ what: 'cancelled', task, ...request(null) });
        throw error;
      }
      history.add({ what: 'cancelled', task, ...request(moment()) });
    });
  }

  /** Keeps a subscription open, on whichever server, until it tells of the end. */
  async #listen(task: TaskId): Promise<void> {
    const { members, random, history } = this.#parts;
    const { signal } = this.#over;
    while (!signal.aborted) {
      const { name: server, peer } = await members.anyServer(random);
      const opened = await peer.listen([task]).catch(() => undefined);
      if (opened?.status !== 200) {
        opened?.close();
        await pause(random.between(50, 300));
        continue;
      }
      const stream = ++streams;
      history.add({ what: 'opened', stream, task, server, at: moment() });
      const end = () => opened.close();
      signal.addEventListener('abort', end);
      // Connections break on this side too.
      const cut = random.chance(0.2) ? setTimeout(end, random.between(200, 3_000)) : undefined;
      const isTold = await this.#hear(task, stream, opened);
      clearTimeout(cut);
      signal.removeEventListener('abort', end);
      opened.close();
      history.add({ what: 'closed', stream, at: moment(), by: isTold || signal.aborted ? 'us' : 'them' });
      if (isTold) return;
    }
  }

  /** True if it told of the end, false if it is over. */
  async #hear(task: TaskId, stream: number, opened: Stream): Promise<boolean> {
    for (let read = 0; ; ) {
      for (const { method, params } of opened.messages.slice(read)) {
        read++;
        if (method !== 'notifications/tasks') continue;
        const seen = seenIn(params as WireTask);
        this.#parts.history.add({ what: 'told', stream, task, at: moment(), seen });
        if (hasEnded(seen)) return true;
      }
      const isOver = await Promise.race([
        opened
          .until(({ messages }) => messages.length > read)
          .then(
            () => false,
            () => true,
          ),
        opened.ended.then(() => true),
      ]);
      if (isOver && opened.messages.length === read) return false;
    }
  }

  /** Sends a request to any server until one answers it. */
  async #insist<T>(
    send: (
      peer: Peer,
      request: <At extends number | null>(at: At) => { from: number; at: At; server: string },
      signal: AbortSignal,
    ) => Promise<T>,
  ): Promise<T | undefined> {
    const { members, random } = this.#parts;
    const started = moment();
    while (moment() - started < patienceMs) {
      const { name: server, peer } = await members.anyServer(random);
      const from = moment();
      try {
        return await send(peer, (at) => ({ from, at, server }), AbortSignal.timeout(answeredWithinMs));
      } catch {
        await pause(random.between(50, 300));
      }
    }
    return undefined;
  }
}

export function hasEnded({ status }: Seen): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

function seenIn(task: WireTask): Seen {
  const { status, lastUpdatedAt, inputRequests, result, error } = task;
  const end = result ?? error;
  return {
    status,
    updatedAt: lastUpdatedAt,
    progress: progressOf(task),
    questions: Object.keys((inputRequests ?? {}) as JsonObject),
    ...(end !== undefined && { result: JSON.stringify(end) }),
  };
}
