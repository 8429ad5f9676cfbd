/** `createTasks` as authors of servers know it: tasks that can be attached to any server of the SDK. */

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

/** An `McpServer` or `Server` of the official SDK, by the methods that both have: these types need no SDK. */
export interface SdkServer {
  connect(transport: never): Promise<void>;
  close(): Promise<void>;
  sendLoggingMessage(params: never, sessionId?: string): Promise<void>;
}

export class Tasks extends EngineTasks {
  /** @internal What all transports of a server share. */
  readonly binding: TaskServer;

  constructor(options: TasksOptions) {
    super(options);
    this.binding = new TaskServer(this, options);
  }

  /** Everything that is limited here, under the names of the options; times in milliseconds, Infinity for no limit. */
  get limits(): Limits & EngineLimits & { readonly maxDeadline: number } {
    const { limiter, maxDeadlineMs: maxDeadline } = this.binding;
    return { ...this.engineLimits, maxDeadline, ...limiter.limits };
  }

  override async close(): Promise<void> {
    await this.binding.settled();
    await super.close();
  }

  /**
   * Serves the durable tools on an `McpServer` or `Server`, beside whatever else it has. To be called before the first
   * tool is registered. Durable work needs a worker: see `work()`.
   */
  attach(mcp: SdkServer, options: AttachOptions = {}): void {
    attach(this.binding, mcp as McpServer | Server, options);
  }
}
