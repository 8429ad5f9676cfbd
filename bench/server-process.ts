/** Starts and stops the servers of the server suite, each in its own process. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Connection } from './server-connection.ts';

export class ServerProcess {
  readonly #child: ChildProcess;
  readonly port: number;
  readonly #connections: Connection[] = [];

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  static start(script: string, ...args: readonly string[]): Promise<ServerProcess> {
    const child = fork(join(import.meta.dirname, script), args);
    return new Promise((resolve, reject) => {
      child.once('message', (port) => resolve(new ServerProcess(child, port as number)));
      child.once('exit', (code) =>
        reject(new Error(`bench/${script} ended with ${code} before it listened.`)),
      );
    });
  }

  get pid(): number {
    return this.#child.pid!;
  }

  async connect(count: number): Promise<readonly Connection[]> {
    const opened = await Promise.all(Array.from({ length: count }, () => Connection.open(this.port)));
    this.#connections.push(...opened);
    return opened;
  }

  async stop(): Promise<void> {
    for (const connection of this.#connections) connection.close();
    if (!this.#child.connected) return;
    const ended = once(this.#child, 'exit');
    this.#child.disconnect();
    await ended;
  }
}

/** In the server's process: reports its address to the parent, and stops when the parent exits. */
export function listensAt(port: number, stop: () => unknown): void {
  process.once('disconnect', stop);
  process.send!(port);
}
