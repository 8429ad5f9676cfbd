/** Virtual scrolling: only the visible rows exist, but the list has its full height. */
import { type ReadonlySignal, signal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';

export interface Range {
  readonly first: number;
  /** Exclusive. */
  readonly end: number;
}

/** Extra rows above and below, so that scrolling shows no gap. */
const overscan = 10;

/** Screens on which a row takes two lines. The style sheet has the same limit. */
const narrow = matchMedia('(max-width: 60rem)');

export interface Viewport {
  readonly range: ReadonlySignal<Range>;
  readonly rowHeight: ReadonlySignal<number>;
  /** Scrolls as little as possible to show a row. */
  reveal(index: number): void;
}

export function useViewport(
  list: RefObject<HTMLElement | null>,
  onScroll: (isRead: boolean) => void,
): Viewport {
  const viewport = useMemo(() => {
    const range = signal<Range>({ first: 0, end: 40 });
    const rowHeight = signal(height());
    const measure = () => {
      if (!list.current) return;
      const { top } = list.current.getBoundingClientRect();
      const first = Math.max(0, Math.floor(-top / rowHeight.value) - overscan);
      const end = Math.max(first, Math.ceil((innerHeight - top) / rowHeight.value)) + overscan;
      const before = range.peek();
      // Do not render again for a few rows.
      if (
        Math.abs(before.first - first) > overscan / 2 ||
        Math.abs(before.end - end) > overscan / 2 ||
        first === 0
      )
        if (before.first !== first || before.end !== end) range.value = { first, end };
    };
    const reveal = (index: number) => {
      const { top } = list.current!.getBoundingClientRect();
      const rowTop = top + index * rowHeight.value;
      const upper = list.current!.previousElementSibling?.getBoundingClientRect().bottom ?? 0;
      if (rowTop < upper) scrollBy(0, rowTop - upper - 4);
      else if (rowTop + rowHeight.value > innerHeight)
        scrollBy(0, rowTop + rowHeight.value - innerHeight + 8);
      measure();
    };
    return { range, rowHeight, measure, reveal };
  }, [list]);
  useEffect(() => {
    let frame = 0;
    const scrolled = () => {
      onScroll(scrollY > 4);
      if (frame) return;
      frame = requestAnimationFrame(() => {
        frame = 0;
        viewport.measure();
      });
    };
    const resized = () => {
      viewport.rowHeight.value = height();
      viewport.measure();
    };
    resized();
    // After a return the scroll position is restored a moment later.
    const arrived = setTimeout(scrolled, 100);
    addEventListener('scroll', scrolled, { passive: true });
    addEventListener('resize', resized);
    return () => {
      clearTimeout(arrived);
      cancelAnimationFrame(frame);
      removeEventListener('scroll', scrolled);
      removeEventListener('resize', resized);
    };
  }, [viewport, onScroll]);
  return viewport;
}

function height(): number {
  const root = Number.parseFloat(getComputedStyle(document.documentElement).fontSize) || 16;
  return root * (narrow.matches ? 4.25 : 3);
}
