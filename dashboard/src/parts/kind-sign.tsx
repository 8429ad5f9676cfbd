import type { TaskSummary } from '../../../src/operator/api.ts';
import { Icon } from './icons.tsx';

/** Marks a row as a subtask or as a plain call. */
export function KindSign({ task: { parentId, plainCall } }: { task: TaskSummary }) {
  if (plainCall)
    return (
      <span class="kind-sign" title="The client waits for the result and has no task id">
        plain call
      </span>
    );
  if (parentId === undefined) return null;
  return (
    <span class="kind-sign" title={`Subtask of ${parentId}`}>
      <Icon name="subtask" />
      subtask
    </span>
  );
}
