/** The standalone stream of a session, open before anything is asked, and everything that came on it. */
import { frames, type Message, type Peer } from '../revision-2025-11-25/peer.ts';

export class Ear implements AsyncDisposable {
  readonly heard: Message[] = [];
  readonly #closing = new AbortController();
  readonly #listeners = new Set<(message: Message) => void>();
  #reading: Promise<void> = Promise.resolve();

  static async open(url: string, peer: Peer): Promise<Ear> {
    const ear = new Ear();
    const response = await fetch(url, { headers: peer.headers(), signal: ear.#closing.signal });
    if (response.status !== 200) throw new Error(`The stream was refused: ${await response.text()}`);
    ear.#reading = ear.#read(response).catch(() => {});
    return ear;
  }

  /** Hears everything from now on. */
  listen(listener: (message: Message) => void): void {
    this.#listeners.add(listener);
  }

  /** The first that is it, of those that came and those that come. */
  async until(isIt: (message: Message) => boolean): Promise<Message> {
    const already = this.heard.find(isIt);
    if (already) return already;
    const { promise, resolve } = Promise.withResolvers<Message>();
    const listener = (message: Message) => {
      if (!isIt(message)) return;
      this.#listeners.delete(listener);
      resolve(message);
    };
    this.#listeners.add(listener);
    return promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#reading;
  }

  async #read(response: Response): Promise<void> {
    for await (const message of frames(response)) this.#take(message);
  }

  #take(message: Message): void {
    this.heard.push(message);
    for (const listener of [...this.#listeners]) listener(message);
  }
}
