import type { TaskSummary } from '../../../src/operator/api.ts';
import { Icon } from './icons.tsx';

/** Says of a row that it is a subtask; of a root it says nothing. */
export function SubtaskSign({ task: { parentId } }: { task: TaskSummary }) {
  if (parentId === undefined) return null;
  return (
    <span class="subtask-sign" title={`Subtask of ${parentId}`}>
      <Icon name="subtask" />
      subtask
    </span>
  );
}
