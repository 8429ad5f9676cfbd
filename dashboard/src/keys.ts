/** Keys that work anywhere on the page, unless the user is typing. */
import { everything, navigate } from './router.ts';

/** Whether the key belongs to a field, a dialog or a browser shortcut. */
export function isTyping(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || event.isComposing)
    return true;
  const target = event.target instanceof Element ? event.target : undefined;
  return Boolean(target?.closest('input, textarea, select, dialog, [contenteditable]'));
}

const chordMs = 1_500;

/** `g` followed by a letter opens a page. */
export function startKeys(): void {
  let chordBegan = Number.NEGATIVE_INFINITY;
  addEventListener('keydown', (event) => {
    if (isTyping(event)) return;
    const isChord = performance.now() - chordBegan < chordMs;
    chordBegan = event.key === 'g' ? performance.now() : Number.NEGATIVE_INFINITY;
    if (!isChord) return;
    if (event.key === 'o') navigate({ view: 'overview', window: '1h' });
    else if (event.key === 't') navigate({ view: 'tasks', filter: everything });
  });
}
