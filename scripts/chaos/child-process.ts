/** Shared by the worker and the creator: their options, and commands from the supervisor until it exits. */
import { createInterface } from 'node:readline';
import { send } from './child-messages.ts';

export interface ChildOptions {
  readonly file: string;
  /** The folder for the lines of steps. */
  readonly folder: string;
  /** The name of this run. */
  readonly run: string;
}

export const options: ChildOptions = JSON.parse(process.argv[2]!);

/** Calls back for each line from the supervisor. Its exit closes our standard input, and ends this process. */
export function onOrder<Order>(obey: (order: Order) => Promise<void>): void {
  const input = createInterface({ input: process.stdin });
  input.on('line', (text) => {
    obey(JSON.parse(text)).catch(giveUp);
  });
  input.on('close', () => process.exit(1));
}

export function giveUp(error: unknown): never {
  send({ kind: 'failed', error: (error as Error).stack ?? String(error) });
  process.exit(1);
}
