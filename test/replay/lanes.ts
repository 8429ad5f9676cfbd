/** Does something with each of many, so many at the same time, as long as it is worth while. */
export async function inLanes<T>(
  things: Iterable<T>,
  atOnce: number,
  act: (thing: T) => Promise<void>,
  worthWhile: () => boolean = () => true,
): Promise<void> {
  const waiting = things[Symbol.iterator]();
  const lane = async () => {
    while (worthWhile()) {
      const next = waiting.next();
      if (next.done) return;
      await act(next.value);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}
