/** The test's side of a puppet: its commands as functions, refusals as errors with the name that the puppet saw. */
import { onTestFinished } from 'vitest';
import type { Line } from './acknowledgement.ts';
import { Child } from './child.ts';
import type { Commands, Said, Told } from './puppet.ts';

interface Pending {
  readonly resolve: (value: never) => void;
  readonly reject: (error: Error) => void;
}

export class Puppet {
  readonly #child: Child<Said>;
  readonly #pending = new Map<number, Pending>();
  #sent = 0;

  constructor(file: string, hear: (line: Line) => void = () => {}, maxFiles?: number) {
    const listen = (said: Said) => {
      if (said.kind !== 'did' && said.kind !== 'didNot') return hear(said);
      const { resolve, reject } = this.#pending.get(said.n)!;
      this.#pending.delete(said.n);
      if (said.kind === 'did') resolve(said.value as never);
      else reject(Object.assign(new Error(said.message), { name: said.name }));
    };
    this.#child = new Child('./puppet.ts', { file }, listen, maxFiles === undefined ? {} : { maxFiles });
    onTestFinished(async () => {
      await this.#child.kill();
    });
    this.#child.exit.then(({ code, signal }) => {
      const error = new Error(`The puppet ended (${signal ?? code}). ${this.#child.complaints}`);
      for (const { reject } of this.#pending.values()) reject(error);
    });
  }

  do<C extends keyof Commands>(command: C, ...args: Parameters<Commands[C]>): ReturnType<Commands[C]> {
    const n = ++this.#sent;
    const told: Told = { n, command, args };
    this.#child.tell(told);
    return new Promise((resolve, reject) => {
      this.#pending.set(n, { resolve, reject });
    }) as ReturnType<Commands[C]>;
  }

  stop(): void {
    this.#child.stop();
  }

  go(): void {
    this.#child.go();
  }

  async kill(): Promise<void> {
    await this.#child.kill();
  }
}

export async function openedPuppet(
  file: string,
  { hear = () => {}, maxFiles }: { hear?: (line: Line) => void; maxFiles?: number } = {},
): Promise<Puppet> {
  const puppet = new Puppet(file, hear, maxFiles);
  await puppet.do('open');
  return puppet;
}
