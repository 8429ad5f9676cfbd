/** The test's side of a host. */
import { Commanded } from '../kit/child.ts';
import { untilEnd } from '../kit/lifetime.ts';
import type { Commands, HostOptions } from './host.ts';

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
