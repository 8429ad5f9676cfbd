/** The test's side of a host: its commands as functions, errors with the names that the host saw. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { Child } from '../chaos/child.ts';
import type { Commands, HostOptions, Said, Told } from './host.ts';

/** A path for a database in a folder of its own, which goes with the test. */
export function temporaryFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-encryption-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'tasks.db');
}

export class Host {
  readonly #child: Child<Said>;
  readonly #pending = new Map<number, PromiseWithResolvers<never>>();
  #sent = 0;

  private constructor(options: HostOptions) {
    this.#child = new Child<Said>('../encryption/host.ts', options, (said) => {
      const { resolve, reject } = this.#pending.get(said.n)!;
      this.#pending.delete(said.n);
      if ('error' in said) reject(Object.assign(new Error(said.error.message), { name: said.error.name }));
      else resolve(said.value as never);
    });
    onTestFinished(() => this.kill());
    this.#child.exit.then(({ code, signal }) => {
      const error = new Error(`The host ended (${signal ?? code}). ${this.#child.complaints}`);
      for (const { reject } of this.#pending.values()) reject(error);
    });
  }

  static async open(options: HostOptions): Promise<Host> {
    const host = new Host(options);
    await host.do('open');
    return host;
  }

  do<C extends keyof Commands>(command: C, ...args: Parameters<Commands[C]>): ReturnType<Commands[C]> {
    const told: Told = { n: ++this.#sent, command, args };
    const pending = Promise.withResolvers<never>();
    pending.promise.catch(() => {}); // A host that is killed answers nothing more, which may be what the test wants.
    this.#pending.set(told.n, pending);
    this.#child.tell(told);
    return pending.promise as unknown as ReturnType<Commands[C]>;
  }

  async kill(): Promise<void> {
    await this.#child.kill();
  }

  /** Closes the store, and ends the process. */
  async close(): Promise<void> {
    await this.do('close');
    await this.kill();
  }
}
