/** One open subscription over HTTP, as its reader sees it. */
import type { IncomingMessage } from 'node:http';
import { Inbox } from '../../kit/inbox.ts';
import { taskIn, type WireTask } from './protocol.ts';

export class Stream extends Inbox {
  readonly id: number;
  readonly status: number;
  /** What was last said of each task. */
  readonly latest = new Map<string, WireTask>();
  /** Resolves when it is over: true if the response came to its proper end, false if it broke off. */
  readonly ended: Promise<boolean>;
  readonly close: () => void;

  constructor(id: number, response: IncomingMessage) {
    super(response, ({ method, params }) => {
      if (method === 'notifications/tasks') this.latest.set(params.taskId, taskIn(params));
    });
    this.id = id;
    this.status = response.statusCode!;
    this.close = () => void response.destroy();
    response.on('error', () => {});
    this.ended = new Promise((resolve) => response.on('close', () => resolve(response.complete)));
  }
}
