/** Values as plain JSON, without what differs by nature, so that they can be compared. */

export interface Comparing {
  readonly names?: ReadonlyMap<string, string>;
  /** Whether large results are compared too. All reads but `get` of a done task may leave them out (their value is null). */
  readonly isWhole?: boolean;
}

const largeValue = 100_000;

/** When a lease ends is a matter of the store's own clock. */
export function comparable<T>(value: T, { names, isWhole = false }: Comparing = {}): T {
  const text = JSON.stringify(value, (key, part) => {
    if (key === 'leaseUntil') return 0;
    if (key === 'apart') return undefined;
    if (key === 'heldOutcome' && isLarge(part?.value)) return { ...part, value: null };
    if (key === 'value' && !isWhole && isLarge(part)) return null;
    return typeof part === 'string' ? (names?.get(part) ?? part) : part;
  });
  return text === undefined ? (undefined as T) : JSON.parse(text);
}

function isLarge(value: unknown): boolean {
  return Object.values(value ?? {}).some((part) => typeof part === 'string' && part.length > largeValue);
}
