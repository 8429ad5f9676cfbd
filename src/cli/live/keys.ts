/**
 * Ctrl-C, as a key of a terminal whose keys do not echo, and as a signal; a second one ends everything at once. Other
 * keys are for whoever wants them.
 */
import type { ReadStream } from 'node:tty';

export interface OtherKeys {
  pressed?(key: string): void;
  /** Ctrl-Z: the shell is about to have the terminal for a while. */
  suspends?(): void;
}

export class Keys {
  readonly #input: ReadStream | undefined;
  readonly #onInterrupt: () => void;
  readonly #others: OtherKeys;
  #isInterrupted = false;
  #isListening = false;

  constructor(input: ReadStream | undefined, onInterrupt: () => void, others: OtherKeys = {}) {
    this.#input = input;
    this.#onInterrupt = onInterrupt;
    this.#others = others;
    process.on('SIGINT', this.interrupt);
    process.once('SIGTERM', ends).once('SIGHUP', ends);
  }

  readonly interrupt = (): void => {
    if (this.#isInterrupted) process.exit(130);
    this.#isInterrupted = true;
    this.#onInterrupt();
  };

  listen(): void {
    if (!this.#input || this.#isListening) return;
    this.#isListening = true;
    this.#input.setRawMode(true).on('data', this.#pressed).resume();
  }

  /** Leaves the keys to somebody else. */
  rest(): void {
    if (!this.#input || !this.#isListening) return;
    this.#isListening = false;
    this.#input.off('data', this.#pressed).pause().setRawMode(false);
  }

  close(): void {
    this.rest();
    process.off('SIGINT', this.interrupt).off('SIGTERM', ends).off('SIGHUP', ends);
  }

  readonly #pressed = (keys: Buffer): void => {
    for (const key of keys)
      if (key === 0x03) this.interrupt();
      else if (key === 0x1a) this.#suspend();
      else this.#others.pressed?.(String.fromCharCode(key));
  };

  #suspend(): void {
    this.rest();
    this.#others.suspends?.();
    process.once('SIGCONT', () => this.listen());
    process.kill(process.pid, 'SIGTSTP');
  }
}

/** What was hidden is shown again on the way out. */
function ends(): void {
  process.exit(143);
}
