import { useId } from 'preact/hooks';
import type { TaskSummary } from '../../../src/operator/api.ts';
import { aboutTask } from '../format.ts';
import { KindSign } from '../parts/kind-sign.tsx';
import { StatusBadge } from '../parts/status-badge.tsx';
import { Ago } from '../parts/time.tsx';
import { href, type ListFilter } from '../router.ts';

interface ShortListProps {
  readonly title: string;
  readonly tasks: readonly TaskSummary[];
  /** The filter that shows all of them. */
  readonly more: ListFilter;
  readonly empty: string;
}

export function ShortList({ title, tasks, more, empty }: ShortListProps) {
  const id = useId();
  return (
    <section class="card short-list" aria-labelledby={id}>
      <div class="card-head">
        <h2 id={id}>{title}</h2>
        <a href={href({ view: 'tasks', filter: more })} aria-label={`${title}: show all`}>
          Show all
        </a>
      </div>
      {tasks.length === 0 ? (
        <p class="short-list-empty">{empty}</p>
      ) : (
        <ul>
          {tasks.map((task) => (
            <li key={task.id}>
              <a class="short-list-row" href={href({ view: 'task', id: task.id })}>
                <span class="short-list-tool">
                  {task.tool}
                  <KindSign task={task} />
                </span>
                <StatusBadge status={task.status} />
                <span class="short-list-text">{aboutTask(task)}</span>
                <span class="short-list-time">
                  <Ago at={task.finishedAt ?? task.updatedAt} />
                </span>
              </a>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
