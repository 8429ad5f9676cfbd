/** The standalone stream of a session, open before anything is asked, and everything that came on it. */
import { expect } from 'vitest';
import { frames, type Message, type Peer } from '../revision-2025-11-25/peer.ts';

export class Ear implements AsyncDisposable {
  readonly heard: Message[] = [];
  readonly #closing = new AbortController();
  #reading: Promise<void> | undefined;

  static async open(peer: Peer, hear?: (message: Message) => void): Promise<Ear> {
    const ear = new Ear();
    const response = await peer.listen(ear.#closing.signal);
    if (response.status !== 200) throw new Error(`The stream was refused: ${await response.text()}`);
    ear.#reading = ear.#read(response, hear).catch(() => {});
    return ear;
  }

  /** The first that is it, of those that came and those that come. */
  async until(isIt: (message: Message) => boolean): Promise<Message> {
    await expect.poll(() => this.heard.some(isIt), { interval: 5 }).toBe(true);
    return this.heard.find(isIt)!;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#reading;
  }

  async #read(response: Response, hear?: (message: Message) => void): Promise<void> {
    for await (const message of frames(response)) {
      this.heard.push(message);
      hear?.(message);
    }
  }
}
