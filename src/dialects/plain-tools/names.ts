/** Names of the plain tools with which plain clients continue a call that became a task. */

export type PlainToolName = 'wait' | 'status' | 'answer' | 'cancel';

/** The names under which clients see the tools. */
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

/**
 * Our own key: `{ taskId }` in the `_meta` of a result that describes a task instead of being the tool's own result.
 */
export const handedOverKey = 'dev.holdfast/handed-over';
