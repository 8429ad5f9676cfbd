/** Names and numbers of the Tasks extension (SEP-2663). */
export const internalError = -32603;

/** Ours: `{ progress, total?, message? }` in the metadata of a task, since no notification may carry it. */
export const progressKey = 'dev.holdfast/progress';
