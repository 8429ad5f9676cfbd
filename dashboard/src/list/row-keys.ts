/** j, k, the arrows, Home and End move between rows; / focuses the search. Enter follows the row's link. */
import type { Signal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { isTyping } from '../keys.ts';
import type { ListModel } from './model.ts';
import type { Viewport } from './viewport.ts';

interface RowKeys {
  readonly model: ListModel;
  readonly list: RefObject<HTMLElement | null>;
  readonly active: Signal<string | undefined>;
  readonly viewport: Viewport;
}

export function useRowKeys({ model, list, active, viewport }: RowKeys): void {
  /** The row that takes the focus as soon as it exists. */
  const wanted = useRef<string>(undefined);
  const focusWanted = useCallback(() => {
    const link = wanted.current === undefined ? undefined : linkOf(list.current, wanted.current);
    if (!link) return;
    wanted.current = undefined;
    link.focus({ preventScroll: true });
  }, [list]);
  useLayoutEffect(focusWanted);
  useEffect(() => {
    let lastIndex = -1;
    const goTo = (index: number) => {
      const id = model.rows.ids[index];
      if (id === undefined) return;
      active.value = id;
      lastIndex = index;
      viewport.reveal(index);
      wanted.current = id;
      focusWanted();
    };
    const onKey = (event: KeyboardEvent) => {
      if (isTyping(event)) return;
      if (event.key === '/') {
        event.preventDefault();
        document.getElementById('search')?.focus();
        return;
      }
      const target = event.target as HTMLElement;
      const link = target.closest<HTMLElement>('.row-link');
      const isArrow = event.key.startsWith('Arrow') || event.key === 'Home' || event.key === 'End';
      // Elsewhere, arrows belong to the focused control.
      if (isArrow && !link && !['BODY', 'H1', 'MAIN'].includes(target.tagName)) return;
      const found = model.rows.ids.indexOf(link?.dataset.id ?? active.value ?? '');
      // If the row was removed, continue from its former index.
      const current = found >= 0 ? found : lastIndex - 1;
      const next = nextIndex(event.key, current, model.rows.length);
      if (next === undefined) return;
      event.preventDefault();
      goTo(next);
    };
    const onFocus = (event: FocusEvent) => {
      active.value =
        (event.target as HTMLElement).closest<HTMLElement>('.row-link')?.dataset.id ?? active.value;
    };
    addEventListener('keydown', onKey);
    addEventListener('focusin', onFocus);
    return () => {
      removeEventListener('keydown', onKey);
      removeEventListener('focusin', onFocus);
    };
  }, [model, active, viewport, focusWanted]);
}

function nextIndex(key: string, current: number, length: number): number | undefined {
  if (length === 0) return undefined;
  if (key === 'j' || key === 'ArrowDown') return Math.max(0, Math.min(current + 1, length - 1));
  if (key === 'k' || key === 'ArrowUp') return Math.max(current - 1, 0);
  if (key === 'Home') return 0;
  if (key === 'End') return length - 1;
  return undefined;
}

function linkOf(list: HTMLElement | null, id: string): HTMLElement | undefined {
  const links = list?.querySelectorAll<HTMLElement>('.row-link') ?? [];
  return [...links].find((link) => link.dataset.id === id);
}
