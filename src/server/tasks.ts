/** `createTasks` for authors of servers: tasks that can be attached to any SDK server. */

import type { McpServer, Server } from '@modelcontextprotocol/server';
import type { EngineLimits } from '../engine/rules/limits.ts';
import { Tasks as EngineTasks } from '../engine/tasks.ts';
import type { TasksOptions as EngineOptions } from '../engine/tasks-options.ts';
import type { Limits } from '../task-methods/limits.ts';
import type { AttachOptions } from './hand-over/options.ts';
import { attach } from './sdk/attach.ts';
import type { ServingOptions } from './serving-options.ts';
import { TaskServer } from './task-server.ts';

export interface TasksOptions extends EngineOptions, ServingOptions {}

export function createTasks(options: TasksOptions): Tasks {
  return new Tasks(options);
}

/** An `McpServer` or `Server` of the official SDK. Lists methods that both have, so that these types need no SDK. */
export interface SdkServer {
  connect(transport: never): Promise<void>;
  close(): Promise<void>;
  sendLoggingMessage(params: never, sessionId?: string): Promise<void>;
}

export class Tasks extends EngineTasks {
  /** @internal The parts that HTTP, stdio and SDK servers share. */
  readonly taskServer: TaskServer;

  constructor(options: TasksOptions) {
    super(options);
    this.taskServer = new TaskServer(this, options);
  }

  /** All limits under the names of their options; times in milliseconds, Infinity for no limit. */
  get limits(): Limits & EngineLimits & { readonly maxDeadline: number } {
    const { limiter, maxDeadlineMs: maxDeadline } = this.taskServer;
    return { ...this.engineLimits, maxDeadline, ...limiter.limits };
  }

  /** Waits until the tasks of ended requests are cleaned up, then stops the workers and closes the store. */
  override async close(): Promise<void> {
    await this.taskServer.settled();
    await super.close();
  }

  /**
   * Adds the durable tools to an `McpServer` or `Server` that may have others of its own. Call it before the first tool
   * is registered. Tasks run only in a worker: see `work()`.
   */
  attach(mcp: SdkServer, options: AttachOptions = {}): void {
    attach(this.taskServer, mcp as McpServer | Server, options);
  }
}
