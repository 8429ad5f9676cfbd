import { count } from '../format.ts';
import { Icon } from '../parts/icons.tsx';
import type { ListModel } from './model.ts';

/** Shows how many tasks arrived while the user reads further down, and leads to them. */
export function NewTasks({ model }: { model: ListModel }) {
  model.changed.value;
  const { held } = model.rows;
  const show = () => {
    model.isRead = false;
    scrollTo(0, 0);
    model.settle();
  };
  return (
    <div class="new-tasks">
      {/* Announced once, not for every new task. */}
      <span class="visually-hidden" role="status">
        {held.count > 0 && model.isRead ? 'There are new tasks at the top.' : ''}
      </span>
      {held.count > 0 && model.isRead && (
        <button type="button" class="new-tasks-button number" onClick={show}>
          <Icon name="up" />
          {count(held.count, held.isMore)} new {held.count === 1 ? 'task' : 'tasks'}
        </button>
      )}
    </div>
  );
}
