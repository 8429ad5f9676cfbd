/** All tasks, or those that match a filter. */
import { useSignal } from '@preact/signals';
import { useCallback, useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { TaskCount } from '../../../src/ports/query.ts';
import { count } from '../format.ts';
import { Button } from '../parts/button.tsx';
import { Empty, Failure, Loading } from '../parts/states.tsx';
import { everything, type ListFilter, navigate, route } from '../router.ts';
import { operatorApi } from '../session.ts';
import { Filters, isFiltered } from './filters.tsx';
import './list.css';
import { type ListModel, modelFor } from './model.ts';
import { NewTasks } from './new-tasks.tsx';
import { Row } from './row.tsx';
import { useRowKeys } from './row-keys.ts';
import { useViewport } from './viewport.ts';

export function ListPage({ filter }: { filter: ListFilter }) {
  const model = modelFor(operatorApi.value!, filter);
  useEffect(() => {
    document.title = 'Tasks – Holdfast';
  }, []);
  return (
    <>
      <div class="page-head">
        <h1 tabIndex={-1}>Tasks</h1>
        <Total model={model} />
      </div>
      <Filters filter={filter} model={model} />
      <TaskList model={model} filter={filter} />
    </>
  );
}

function Total({ model }: { model: ListModel }) {
  // Screen readers announce the total once; later changes are only visible.
  const announced = useSignal('');
  useEffect(
    () =>
      model.total.subscribe((total) => {
        if (total && announced.peek() === '') announced.value = totalText(total);
      }),
    [model, announced],
  );
  useEffect(
    () => () => {
      announced.value = '';
    },
    [model, announced],
  );
  const total = model.total.value;
  return (
    <>
      <p class="total number">{total && totalText(total)}</p>
      <span class="visually-hidden" role="status">
        {announced}
      </span>
    </>
  );
}

function totalText({ count: known, isMore }: TaskCount): string {
  return `${count(known, isMore)} ${known === 1 && !isMore ? 'task' : 'tasks'}`;
}

function TaskList({ model, filter }: { model: ListModel; filter: ListFilter }) {
  const list = useRef<HTMLOListElement>(null);
  /** The row selected by keyboard. It is rendered even out of sight, so that it keeps the focus. */
  const active = useSignal<string | undefined>(undefined);
  const onScroll = useCallback(
    (isRead: boolean) => {
      // Navigation scrolls to the top while this page still exists.
      if (route.peek().view !== 'tasks') return;
      const wasRead = model.isRead;
      model.isRead = isRead;
      if (wasRead && !isRead) model.settle();
    },
    [model],
  );
  const viewport = useViewport(list, onScroll);
  useRowKeys({ model, list, active, viewport });
  model.changed.value;
  const { rows } = model;
  const { first, end } = viewport.range.value;
  const height = viewport.rowHeight.value;
  useLayoutEffect(() => {
    if (end + 60 > rows.length) void model.loadMore();
  });
  const isEmpty = rows.length === 0;
  if (isEmpty && model.error.value !== undefined)
    return (
      <div class="card">
        <Failure error={model.error.value} onRetry={model.retry} />
      </div>
    );
  if (isEmpty && !model.loading.value) return <Nothing filter={filter} />;
  const shown = rows.ids.slice(first, end).map((id, offset) => ({ id, index: first + offset }));
  const activeIndex = active.value === undefined ? -1 : rows.ids.indexOf(active.value);
  if (activeIndex >= 0 && (activeIndex < first || activeIndex >= end))
    shown.push({ id: active.value!, index: activeIndex });
  const setSize = model.isComplete ? rows.length : -1;
  return (
    <div class="card list">
      <div class="list-head" aria-hidden="true">
        <span>Status</span>
        <span>Tool</span>
        <span>Owner</span>
        <span>Created</span>
        <span>Duration</span>
      </div>
      <NewTasks model={model} />
      <ol
        ref={list}
        class="rows"
        aria-label="Tasks, newest first"
        aria-busy={model.loading.value === 'first'}
        style={{ height: `${Math.max(rows.length, isEmpty ? 8 : 1) * height}px` }}
      >
        {isEmpty ? (
          <li class="row-loading">
            <Loading label="Loading tasks" lines={8} />
          </li>
        ) : (
          shown.map(({ id, index }) => (
            <Row
              key={id}
              task={rows.get(id)!}
              index={index}
              setSize={setSize}
              top={index * height}
              isLeaving={rows.isLeaving(id)}
              isGone={rows.isGone(id)}
              isFresh={model.fresh.has(id)}
            />
          ))
        )}
      </ol>
      <Foot model={model} />
    </div>
  );
}

function Foot({ model }: { model: ListModel }) {
  model.changed.value;
  if (model.error.value !== undefined)
    return (
      <p class="list-foot">
        Could not load more tasks. <Button onClick={model.retry}>Try again</Button>
      </p>
    );
  if (model.rows.length === 0) return null;
  return <p class="list-foot">{model.isComplete ? 'End of list.' : 'Loading more …'}</p>;
}

function Nothing({ filter }: { filter: ListFilter }) {
  if (!isFiltered(filter))
    return (
      <div class="card">
        <Empty title="No tasks yet">
          When a durable tool is called, its task appears here automatically.
        </Empty>
      </div>
    );
  return (
    <div class="card">
      <Empty title="No matching tasks" icon="search">
        <p>New matches appear here automatically.</p>
        <Button onClick={() => navigate({ view: 'tasks', filter: everything })}>Clear filters</Button>
      </Empty>
    </div>
  );
}
