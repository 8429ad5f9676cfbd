/**
 * How sure one can be that two sets of times differ: the Mann–Whitney test, which compares ranks and is moved neither
 * by outliers nor by the shape of what is measured. Of sets that do not differ, |z| is above 5 once in 1.7 million.
 */
export function rankTest(left: readonly number[], right: readonly number[]): number {
  const all = [
    ...left.map((value) => ({ value, isLeft: true })),
    ...right.map((value) => ({ value, isLeft: false })),
  ];
  all.sort((a, b) => a.value - b.value);
  let rankSum = 0;
  for (let start = 0; start < all.length; ) {
    let end = start;
    while (end < all.length && all[end]!.value === all[start]!.value) end++;
    // Those that are equal share their ranks.
    const rank = (start + 1 + end) / 2;
    for (let i = start; i < end; i++) if (all[i]!.isLeft) rankSum += rank;
    start = end;
  }
  const [m, n] = [left.length, right.length];
  const u = rankSum - (m * (m + 1)) / 2;
  return (u - (m * n) / 2) / Math.sqrt((m * n * (m + n + 1)) / 12);
}
