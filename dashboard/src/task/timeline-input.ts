/** Mouse, touch and keyboard input on the timeline. */

/** A tooltip about a row or one of its bars. */
export interface Tip {
  readonly row: string;
  readonly bar?: number;
}

export interface TimelineInput {
  show(tip: Tip | undefined): void;
  toggle(id: string): void;
  focus(id: string): void;
}

/** One set of listeners for all rows. A click anywhere on a row except links opens its details. */
export function listen(box: HTMLElement, input: TimelineInput): () => void {
  const stopping = new AbortController();
  const options = { signal: stopping.signal };
  const rowOf = (target: EventTarget | null) =>
    (target as Element | null)?.closest<HTMLElement>('[data-row]');
  const onTarget = ({ target }: Event) => (target as Element).closest('a, .lane-details') === null;
  const tipOf = ({ target }: Event): Tip | undefined => {
    const row = rowOf(target)?.dataset.row;
    const bar = (target as Element).closest<HTMLElement>('[data-bar]')?.dataset.bar;
    return row === undefined ? undefined : { row, ...(bar !== undefined && { bar: Number(bar) }) };
  };
  box.addEventListener(
    'click',
    (event) => {
      const row = rowOf(event.target);
      if (row && onTarget(event)) input.toggle(row.dataset.row!);
    },
    options,
  );
  box.addEventListener(
    'pointerover',
    (event) => event.pointerType === 'mouse' && input.show(tipOf(event)),
    options,
  );
  box.addEventListener('pointerleave', () => input.show(undefined), options);
  box.addEventListener('focusout', () => input.show(undefined), options);
  box.addEventListener(
    'focusin',
    (event) => {
      const row = rowOf(event.target)?.dataset.row;
      if (row === undefined) return;
      input.focus(row);
      if ((event.target as Element).matches('.lane-name:focus-visible')) input.show({ row });
    },
    options,
  );
  box.addEventListener(
    'keydown',
    (event) => {
      if (!(event.target as Element).matches('.lane-name')) return;
      if (event.key === 'Escape') return input.show(undefined);
      const names = [...box.querySelectorAll<HTMLElement>('.lane-name')];
      const at = names.indexOf(event.target as HTMLElement);
      const places: Record<string, number> = {
        ArrowDown: at + 1,
        ArrowUp: at - 1,
        Home: 0,
        End: names.length - 1,
      };
      const next = names[places[event.key] ?? -1];
      if (!next) return;
      event.preventDefault();
      next.focus();
    },
    options,
  );
  return () => stopping.abort();
}
