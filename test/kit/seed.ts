/** The first seed of this run: `HOLDFAST_SEED` repeats an earlier one. */
export function seedOfThisRun(): number {
  return Number(process.env.HOLDFAST_SEED ?? Math.floor(Math.random() * 2 ** 31));
}
