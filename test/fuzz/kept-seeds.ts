/**
 * Seeds of batches that found a mistake once; every run begins with them. A problem is reported with the seed of its
 * batch, `[seed N]`: put it here, and the message itself, made small, into `found.test.ts` or `found-in-sessions.test.ts`,
 * because a changed generator makes other messages of the same seed.
 */
export const keptSeeds: readonly number[] = [1_124_123_479, 113_825_270, 1_004_260_568, 1_647_448_763];
