/** The standalone stream of a session, open before anything is asked, and everything that came on it. */
import { expect } from 'vitest';
import { frames, type Message, type Peer } from '../revision-2025-11-25/peer.ts';

export type Ear = Awaited<ReturnType<typeof openEar>>;

export async function openEar(peer: Peer, hear?: (message: Message) => void) {
  const heard: Message[] = [];
  const closing = new AbortController();
  const response = await peer.listen(closing.signal);
  if (response.status !== 200) throw new Error(`The stream was refused: ${await response.text()}`);
  const read = async () => {
    for await (const message of frames(response)) {
      heard.push(message);
      hear?.(message);
    }
  };
  const reading = read().catch(() => {});
  return {
    heard,
    /** The first that is it, of those that came and those that come. */
    async until(isIt: (message: Message) => boolean): Promise<Message> {
      await expect.poll(() => heard.some(isIt), { interval: 5 }).toBe(true);
      return heard.find(isIt)!;
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      await reading;
    },
  };
}
