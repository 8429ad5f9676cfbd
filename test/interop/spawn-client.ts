/** A client in a process of its own, which prints one line and is gone. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';

export interface ClientProcess {
  /** What it prints. */
  readonly line: Promise<string>;
  /** Rejects if it did not end well. */
  readonly gone: Promise<void>;
}

export function spawnClient(program: string, ...words: string[]): ClientProcess {
  const child = spawn(process.execPath, [program, ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
  const gone = Promise.all([once(child, 'close'), text(child.stderr)]).then(([[code], complaint]) => {
    if (code !== 0) throw new Error(`The client ended with ${complaint.trim() || child.signalCode}`);
  });
  const printed = once(createInterface({ input: child.stdout }), 'line') as Promise<[string]>;
  // Without a line, what it ended with says more.
  const line = Promise.race([printed, gone.then(() => printed)]).then(([first]) => first);
  // A case awaits one of them first, and both fail for the same reason.
  for (const promise of [line, gone]) promise.catch(() => {});
  return { line, gone };
}
