/**
 * A connection of a session, on which the server speaks unasked: status, progress, and questions, which may have no
 * other way to the client. A connection follows the trees of tasks that it made or asked about, to their end.
 */
import type { Requests } from '../engine/requests.ts';
import { newId } from '../model/id.ts';
import type { JsonObject } from '../model/json.ts';
import type { TaskId } from '../model/task.ts';
import { Follower, type Listener } from './follower.ts';

/** A stream to the client on which a request can be put and its answer awaited. */
export interface Channel {
  readonly name: string;
  /** Fires when the stream is gone. */
  readonly closed: AbortSignal;
  ask(request: { method: string; params: JsonObject }, signal: AbortSignal): Promise<JsonObject>;
  /** … with an answer of any form. */
  request(request: { method: string; params: JsonObject }, signal: AbortSignal): Promise<JsonObject>;
}

/** What belongs to no request of the client. */
export interface Standalone {
  /** The session that it is part of. */
  readonly session: string;
  /** The stream, while it is open. */
  channel(): Channel | undefined;
  notify(notification: { method: string; params: JsonObject }): Promise<void>;
  /** Calls back when the stream has been opened. */
  onOpen(listener: () => void): () => void;
}

export class Connection {
  readonly #requests: Requests;
  readonly #standalone: Standalone;
  /** By the task, and by the dialect in which it is told of. */
  readonly #followers = new Map<string, Follower>();
  readonly #stopListening: () => void;

  constructor(requests: Requests, standalone: Standalone) {
    this.#requests = requests;
    this.#standalone = standalone;
    this.#stopListening = standalone.onOpen(() => {
      for (const follower of this.#followers.values()) follower.look();
    });
  }

  /** Tells of a tree of tasks from now on, in the words of whoever asked about it. */
  follow(rootId: TaskId, listener: Listener): Follower {
    const key = `${listener.dialect.revision} ${rootId}`;
    const known = this.#followers.get(key);
    if (known) return known;
    const follower = new Follower(this.#requests, this.#standalone, rootId, listener, () =>
      this.#followers.delete(key),
    );
    this.#followers.set(key, follower);
    return follower;
  }

  /** Puts questions of a tree of tasks on one stream, apart from everything else that is told on this connection. */
  ask(rootId: TaskId, listener: Listener, channel: Channel): () => void {
    const key = newId();
    const follower = new Follower(this.#requests, this.#standalone, rootId, listener, () =>
      this.#followers.delete(key),
    );
    this.#followers.set(key, follower);
    follower.offer(channel);
    return () => follower.stop();
  }

  close(): void {
    this.#stopListening();
    for (const follower of [...this.#followers.values()]) follower.stop();
  }
}
