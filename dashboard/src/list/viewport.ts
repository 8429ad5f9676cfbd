/** Which rows are in sight. Only these exist; the list is as high as if all did. */
import { type ReadonlySignal, signal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';

export interface Range {
  readonly first: number;
  /** The one behind the last. */
  readonly end: number;
}

/** Rows above and below that exist too, so that scrolling shows no gap. */
const overscan = 10;

/** Where a row takes two lines. The style sheet says the same. */
const narrow = matchMedia('(max-width: 60rem)');

export interface Viewport {
  readonly range: ReadonlySignal<Range>;
  readonly rowHeight: ReadonlySignal<number>;
  /** Brings a row into sight with as little movement as possible. */
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
      // A few rows more or less are not worth a render.
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
    // Whoever comes back is at the top at first, and a moment later where they were.
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
