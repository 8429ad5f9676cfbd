/** Acts on each of many, so many at the same time, as long as it is worth while. */
export async function inLanes<T>(
  things: Iterable<T>,
  atOnce: number,
  act: (thing: T) => Promise<void>,
  worthWhile: () => boolean = () => true,
): Promise<void> {
  const waiting = things[Symbol.iterator]();
  const lane = async () => {
    for (let next = waiting.next(); !next.done && worthWhile(); next = waiting.next()) await act(next.value);
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}
