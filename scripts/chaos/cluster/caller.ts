/**
 * A client with one errand. It sends each request to a random server, and again to any of them until one answers,
 * because servers are killed. It records its requests and their answers in the history, without checking them.
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
const giveUpAfterMs = 240_000;
const notFound = -32_602;
/** The time within which an open subscription should report the end. */
const notifiedWithinMs = 6_000;

export interface Plan {
  readonly key: string;
  readonly input: JsonObject;
  /** Subscribes, and polls less often. */
  readonly listens: boolean;
  /** Cancels after this time. */
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
  readonly #sent = new Map<string, string>();
  readonly #acknowledged = new Set<string>();
  readonly #over = new AbortController();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Runs from the order to the end of the task, to a timeout, or to the end of the run. */
  async run(): Promise<void> {
    await this.#run().catch(() => {});
  }

  async #run(): Promise<void> {
    const { key, input, listens, cancelsAfterMs } = this.#parts.plan;
    this.#parts.history.add({ what: 'ordered', key, at: moment() });
    const task = await this.#retry(async (peer, request, signal) => {
      const { taskId } = await peer.call('chaos_errand', input, signal, key);
      this.#parts.history.add({ what: 'created', key, task: taskId, ...request(moment()) });
      return taskId;
    });
    if (task === undefined) return;
    this.task = task;
    const listening = listens ? this.#listen(task) : undefined;
    const cancelling = cancelsAfterMs === undefined ? undefined : this.#cancelAfter(task, cancelsAfterMs);
    await this.#pollUntilEnd(task);
    await cancelling;
    this.isDone = true;
    if (listening) await Promise.race([listening, pause(notifiedWithinMs, undefined, { ref: false })]);
    this.#over.abort();
    await listening;
  }

  /** Polls every server once. */
  async pollEverywhere(): Promise<void> {
    if (this.task === undefined) return;
    for (const { name, peer } of this.#parts.members.of('server'))
      if (peer)
        await this.#poll(this.task, name, peer, AbortSignal.timeout(answeredWithinMs)).catch(() => {});
  }

  async #pollUntilEnd(task: TaskId): Promise<void> {
    const { random, plan } = this.#parts;
    const started = moment();
    while (moment() - started < giveUpAfterMs) {
      const { name, peer } = await this.#parts.members.anyServer(random);
      const seen = await this.#poll(task, name, peer, AbortSignal.timeout(answeredWithinMs)).catch(
        () => undefined,
      );
      if (seen && hasEnded(seen)) return;
      await Promise.all((seen?.questions ?? []).map((question) => this.#answer(task, question)));
      await pause(plan.listens ? random.between(400, 1_200) : random.between(60, 400));
    }
  }

  async #poll(task: TaskId, server: string, peer: Peer, signal: AbortSignal): Promise<Seen | undefined> {
    const from = moment();
    try {
      const seen = seenIn(await peer.get(task, signal));
      this.#parts.history.add({ what: 'polled', task, from, at: moment(), server, seen });
      return seen;
    } catch (error) {
      if (error instanceof Refused && error.code === notFound)
        this.#parts.history.add({ what: 'polled', task, from, at: moment(), server, seen: null });
      throw error;
    }
  }

  /** Answers a question. Retries always send the same answer. */
  async #answer(task: TaskId, question: string): Promise<void> {
    if (this.#acknowledged.has(question)) return;
    const { history, random } = this.#parts;
    await pause(random.between(0, 300));
    const words = this.#sent.get(question) ?? `aye-${newId().slice(0, 10)}`;
    this.#sent.set(question, words);
    const response = { [question]: { action: 'accept', content: { words } } };
    await this.#retry(async (peer, request, signal) => {
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
    await this.#retry(async (peer, request, signal) => {
      try {
        await peer.cancel(task, signal);
      } catch (error) {
        history.add({ what: 'cancelled', task, ...request(null) });
        throw error;
      }
      history.add({ what: 'cancelled', task, ...request(moment()) });
    });
  }

  /** Keeps a subscription open, on any server, until it reports the end. */
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
      // The client cuts connections, too.
      const cut = random.chance(0.2) ? setTimeout(end, random.between(200, 3_000)) : undefined;
      const sawEnd = await this.#receive(task, stream, opened);
      clearTimeout(cut);
      signal.removeEventListener('abort', end);
      opened.close();
      history.add({ what: 'closed', stream, at: moment(), by: sawEnd || signal.aborted ? 'us' : 'them' });
      if (sawEnd) return;
    }
  }

  /** True if the stream reported the end of the task, false if the stream ended before. */
  async #receive(task: TaskId, stream: number, opened: Stream): Promise<boolean> {
    for (let read = 0; ; ) {
      for (const { method, params } of opened.messages.slice(read)) {
        read++;
        if (method !== 'notifications/tasks') continue;
        const seen = seenIn(params as WireTask);
        this.#parts.history.add({ what: 'notified', stream, task, at: moment(), seen });
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

  /** Sends a request to random servers until one answers. */
  async #retry<T>(
    send: (
      peer: Peer,
      request: <At extends number | null>(at: At) => { from: number; at: At; server: string },
      signal: AbortSignal,
    ) => Promise<T>,
  ): Promise<T | undefined> {
    const { members, random } = this.#parts;
    const started = moment();
    while (moment() - started < giveUpAfterMs) {
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
