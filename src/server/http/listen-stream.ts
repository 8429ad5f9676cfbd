/** A subscription over HTTP: the SDK's stream of events, with the news of tasks among them. */
import type { Requests } from '../../engine/requests.ts';
import type { Caller } from '../../hosting/caller.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import { readEvents } from '../../protocol/event-stream.ts';
import {
  acknowledgement,
  acknowledging,
  farewell,
  type Heard,
  Subscription,
  type SubscriptionId,
} from '../subscription.ts';
import { EventBody } from './event-body.ts';

interface ListenParts {
  readonly requests: Requests;
  readonly caller: Caller;
  readonly id: SubscriptionId;
  readonly tasks: readonly Heard[];
  readonly serverInfo: JsonObject;
  /** The SDK's own answer: the acknowledgement, and whatever else was subscribed to. */
  readonly inner: ReadableStream<Uint8Array>;
  readonly onClose: () => void;
}

export interface ListenStream {
  readonly body: ReadableStream<Uint8Array>;
  /** The server ends it: the request to listen gets its answer. */
  end(): void;
}

export function listenStream(parts: ListenParts): ListenStream {
  const { requests, caller, id, tasks, serverInfo, inner, onClose } = parts;
  const events = new EventBody(() => {
    subscription.close();
    onClose();
  });
  const write = (message: JsonObject) => events.write(frame(message));
  const subscription = new Subscription(requests, caller, parts, { write, drop: () => events.fail() });
  // Passes on what the SDK writes. It ends a stream that listens to nothing it knows; the tasks keep this one open.
  const relay = async () => {
    for await (const { data } of readEvents(inner, { signal: events.closed })) {
      const message: unknown = JSON.parse(data);
      if (!isJsonObject(message) || 'result' in message) continue;
      if (message.method === acknowledgement) {
        const taskIds = tasks.map((task) => task.id);
        await write(acknowledging(message, taskIds));
        subscription.start();
      } else await write(message);
    }
  };
  void relay().catch(() => {});
  return { body: events.stream, end: () => events.end(frame(farewell(id, serverInfo))) };
}

function frame(message: JsonObject): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
}
