/** How often each of several things happened. */
export class Counts extends Map<string, number> {
  add(what: string, times = 1): number {
    const count = (this.get(what) ?? 0) + times;
    this.set(what, count);
    return count;
  }

  override toString(): string {
    return [...this].map(([what, times]) => `${times} ${what}`).join(', ');
  }
}
