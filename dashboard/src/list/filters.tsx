/** The filters of the list. Every choice is in the address at once. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { type TaskStatus, taskStatuses } from '../../../src/model/status.ts';
import { ownerName } from '../format.ts';
import { Icon } from '../parts/icons.tsx';
import { meanings } from '../parts/status-badge.tsx';
import { everything, type ListFilter, navigate, type Span, spans } from '../router.ts';
import { about } from '../shell/about.ts';
import type { ListModel } from './model.ts';

/** Waits for a pause in typing before it loads a new list. */
const typingMs = 250;

export function isFiltered({ statuses, tool, owner, age, text }: ListFilter): boolean {
  return statuses.length > 0 || Boolean(tool || owner || age || text);
}

export function Filters({ filter, model }: { filter: ListFilter; model: ListModel }) {
  const isOpen = useSignal(Boolean(filter.tool || filter.owner || filter.age));
  const show = (next: ListFilter, { replace = false } = {}) => {
    navigate({ view: 'tasks', filter: withoutEmpty(next) }, { replace });
    scrollTo(0, 0);
  };
  const owner = useRef<HTMLInputElement>(null);
  // The field is not recreated when the owner changes, so that it keeps the focus.
  useEffect(() => {
    if (owner.current) owner.current.value = filter.owner ?? '';
  }, [filter.owner]);
  const seen = seenIn(model);
  const tools = known([...(about.value?.tools ?? []), ...seen.tools], filter.tool);
  return (
    <search class="filters">
      <Search filter={filter} onChange={(text) => show({ ...filter, text }, { replace: true })} />
      <div class="filters-more" data-open={isOpen.value ? '' : undefined}>
        <div class="filter">
          <select
            aria-label="Tool"
            class="select"
            value={filter.tool ?? ''}
            onChange={(event) => show({ ...filter, tool: event.currentTarget.value })}
          >
            <option value="">Any tool</option>
            {tools.map((tool) => (
              <option key={tool} value={tool}>
                {tool}
              </option>
            ))}
          </select>
        </div>
        {about.value?.owner === undefined && (
          <div class="filter">
            <input
              ref={owner}
              aria-label="Owner"
              class="input"
              list="owners"
              placeholder="Any owner"
              autocomplete="off"
              spellcheck={false}
              defaultValue={filter.owner ?? ''}
              onChange={(event) => show({ ...filter, owner: event.currentTarget.value.trim() })}
            />
            <datalist id="owners">
              {seen.owners.map((owner) => (
                <option key={owner} value={owner} label={ownerName(owner)} />
              ))}
            </datalist>
          </div>
        )}
        <div class="filter">
          <select
            aria-label="Age"
            class="select"
            value={filter.age ?? ''}
            onChange={(event) => {
              const { age: _, ...rest } = filter;
              const age = event.currentTarget.value as Span | '';
              show(age ? { ...rest, age } : rest);
            }}
          >
            <option value="">Any age</option>
            {(Object.keys(spans) as Span[]).map((span) => (
              <option key={span} value={span}>
                Last {spans[span].name}
              </option>
            ))}
          </select>
        </div>
      </div>
      <button
        type="button"
        class="button button-quiet filters-toggle"
        aria-expanded={isOpen.value}
        onClick={() => {
          isOpen.value = !isOpen.value;
        }}
      >
        {isOpen.value ? 'Fewer filters' : 'More filters'}
      </button>
      <Chips
        chosen={filter.statuses}
        onChange={(statuses) => show({ ...filter, statuses })}
        {...(isFiltered(filter) && { onClear: () => show(everything) })}
      />
    </search>
  );
}

function Search({ filter, onChange }: { filter: ListFilter; onChange: (text: string) => void }) {
  const field = useRef<HTMLInputElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  // The address may change by other means, but the field must not change while the user types.
  useEffect(() => {
    if (document.activeElement !== field.current) field.current!.value = filter.text ?? '';
  }, [filter.text]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const change = (ms: number) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onChange(field.current!.value.trim()), ms);
  };
  return (
    <label class="filter filter-search">
      <span class="visually-hidden">Search ids, tools, owners and messages</span>
      <Icon name="search" />
      <input
        ref={field}
        id="search"
        class="input"
        type="search"
        placeholder="Search"
        autocomplete="off"
        spellcheck={false}
        defaultValue={filter.text ?? ''}
        aria-keyshortcuts="/"
        onInput={() => change(typingMs)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') change(0);
          if (event.key !== 'Escape') return;
          event.preventDefault();
          if (field.current!.value) {
            field.current!.value = '';
            change(0);
          } else field.current!.blur();
        }}
      />
    </label>
  );
}

interface ChipsProps {
  readonly chosen: readonly TaskStatus[];
  readonly onChange: (chosen: readonly TaskStatus[]) => void;
  /** Present if any filter is set. */
  readonly onClear?: () => void;
}

function Chips({ chosen, onChange, onClear }: ChipsProps) {
  const row = useRef<HTMLFieldSetElement>(null);
  // On phones the row is wider than the screen, and the selected status may be out of sight.
  useEffect(() => {
    const first = row.current!.querySelector<HTMLElement>('[aria-pressed="true"]');
    if (first) row.current!.scrollLeft = first.offsetLeft - 80;
  }, []);
  return (
    <fieldset class="chips" ref={row}>
      <legend class="visually-hidden">Status</legend>
      {taskStatuses.map((status) => {
        const isChosen = chosen.includes(status);
        return (
          <button
            key={status}
            type="button"
            class="chip"
            data-status={status}
            aria-pressed={isChosen}
            title={meanings[status]}
            onClick={() =>
              onChange(
                taskStatuses.filter((other) => (other === status ? !isChosen : chosen.includes(other))),
              )
            }
          >
            <Icon name={status} />
            {status}
          </button>
        );
      })}
      {onClear && (
        <button type="button" class="chip chip-clear" onClick={onClear}>
          <Icon name="close" />
          Clear
        </button>
      )}
    </fieldset>
  );
}

function seenIn(model: ListModel): { tools: string[]; owners: string[] } {
  const tools = new Set<string>();
  const owners = new Set<string>();
  let seen = 0;
  for (const task of model.rows.values()) {
    if (++seen > 500) break;
    tools.add(task.tool);
    if (task.owner) owners.add(task.owner);
  }
  return { tools: [...tools], owners: [...owners].sort() };
}

function known(tools: readonly string[], chosen: string | undefined): string[] {
  return [...new Set(chosen ? [...tools, chosen] : tools)].sort();
}

function withoutEmpty({ statuses, tool, owner, age, text }: ListFilter): ListFilter {
  return {
    statuses,
    ...(tool && { tool }),
    ...(owner && { owner }),
    ...(age && { age }),
    ...(text && { text }),
  };
}
