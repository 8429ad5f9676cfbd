/**
 * How long a finished task is kept. Retention never ends live work: that is the deadline's business alone.
 * `ms: null` keeps the task without limit.
 */
export type Retention =
  /** The author's default, and SEP-1686's keepAlive: counted from the end. */
  | { readonly from: 'finish'; readonly ms: number | null }
  /** A requestor's ttl: a wish counted from creation. A result stays readable for `floorMs` after the end at least. */
  | { readonly from: 'creation'; readonly ms: number | null; readonly floorMs: number };

export function keepUntil(retention: Retention, createdAt: number, finishedAt: number): number | null {
  if (retention.ms === null) return null;
  return retention.from === 'finish'
    ? finishedAt + retention.ms
    : Math.max(createdAt + retention.ms, finishedAt + retention.floorMs);
}
