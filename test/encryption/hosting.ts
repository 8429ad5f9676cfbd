/** The test's side of a host. */
import { expect } from 'vitest';
import type { Outcome } from '../../src/index.ts';
import { Commanded } from '../kit/child.ts';
import { untilEnd } from '../kit/lifetime.ts';
import type { Commands, HostOptions } from './host.ts';
import { secretIn } from './secrets.ts';

export class Host extends Commanded<Commands> {
  static async open(options: HostOptions): Promise<Host> {
    const host = untilEnd(new Host('encryption/host.ts', options));
    await host.do('open');
    return host;
  }

  /** Closes the store, and ends the process. */
  async close(): Promise<void> {
    await this.do('close');
    await this.kill();
  }
}

/** What was confided came back, every part of it. */
export function expectWhole(outcome: Outcome): void {
  expect(outcome).toMatchObject({
    kind: 'result',
    isError: false,
    value: {
      structuredContent: {
        text: secretIn('argument'),
        deep: [{ text: secretIn('nested argument') }],
        first: { value: secretIn('step value') },
        event: { value: secretIn('event value') },
        answer: { action: 'accept', content: { code: secretIn('answer') } },
      },
    },
  });
  const { value } = outcome as Extract<Outcome, { kind: 'result' }>;
  expect(JSON.stringify(value)).toContain(`${secretIn('subtask argument')}, ${secretIn('subtask result')}`);
}
