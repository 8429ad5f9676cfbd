/** What the worker and the creator share: their argument, and hearing from the supervisor until it is gone. */
import { createInterface } from 'node:readline';
import { say } from './said.ts';

export interface ChildOptions {
  readonly file: string;
  /** Where steps write their lines. */
  readonly folder: string;
  /** The name of this run. */
  readonly run: string;
}

export const options: ChildOptions = JSON.parse(process.argv[2]!);

/** Calls back for each line that the supervisor sends. Nobody may outlive it: its end closes our standard input. */
export function onOrder<Order>(obey: (order: Order) => Promise<void>): void {
  const input = createInterface({ input: process.stdin });
  input.on('line', (text) => {
    obey(JSON.parse(text)).catch(giveUp);
  });
  input.on('close', () => process.exit(1));
}

export function giveUp(error: unknown): never {
  say({ kind: 'failed', error: (error as Error).stack ?? String(error) });
  process.exit(1);
}
