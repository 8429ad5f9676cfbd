/** Does the same for every item, so many at a time. The results come in the order of the items. */
export async function inLanes<T, R>(
  lanes: number,
  items: readonly T[],
  act: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = new Array(items.length);
  let next = 0;
  const lane = async () => {
    for (let index = next++; index < items.length; index = next++)
      results[index] = await act(items[index]!, index);
  };
  await Promise.all(Array.from({ length: Math.min(lanes, items.length) }, lane));
  return results;
}

/** The numbers from 0 up to a count. */
export function times(count: number): number[] {
  return Array.from({ length: Math.round(count) }, (_, index) => index);
}
