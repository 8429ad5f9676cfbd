/** Acts on each of many, so many at the same time, as long as it is worth while. Returns the results in the order of the things. */
export async function inLanes<T, R>(
  things: Iterable<T>,
  atOnce: number,
  act: (thing: T) => Promise<R>,
  worthWhile: () => boolean = () => true,
): Promise<R[]> {
  const results: R[] = [];
  const waiting = things[Symbol.iterator]();
  let begun = 0;
  const lane = async () => {
    for (let next = waiting.next(); !next.done && worthWhile(); next = waiting.next()) {
      const n = begun++;
      results[n] = await act(next.value);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  return results;
}

export function times(count: number): number[] {
  return Array.from({ length: Math.round(count) }, (_, index) => index);
}
