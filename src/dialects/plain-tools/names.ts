/** Names of the plain tools by which clients without tasks go on with a call that became one. */

export type PlainToolName = 'wait' | 'status' | 'answer' | 'cancel';

/** Each tool as clients call it. */
export type PlainToolNames = Readonly<Record<PlainToolName, string>>;

export const defaultPrefix = 'task_';

export function plainToolNames(prefix: string): PlainToolNames {
  return {
    wait: `${prefix}wait`,
    status: `${prefix}status`,
    answer: `${prefix}answer`,
    cancel: `${prefix}cancel`,
  };
}

/** Ours: `{ taskId }` in the metadata of an answer that tells of a task instead of giving the tool's own result. */
export const handedOverKey = 'dev.holdfast/handed-over';
