/**
 * Keeps the focus when the focused control disappears: an answered form, a confirmed dialog, a removed row. Browsers
 * drop the focus, and a screen reader starts at the top of the page. Here the heading of the enclosing part takes it.
 */

/** Keeps the focus inside `main` until the returned function is called. */
export function keepFocus(main: HTMLElement): () => void {
  /** The focused element and its ancestors, from the inside out. */
  let trail: Element[] = [];
  const onFocus = ({ target }: FocusEvent) => {
    trail = around(target as Element);
  };
  const onBlur = ({ target }: FocusEvent) => {
    // If the element is still there in the next microtask, the user moved the focus away.
    queueMicrotask(() => {
      if (trail[0] === target && trail[0].isConnected) trail = [];
    });
  };
  const observer = new MutationObserver(() => {
    if (trail[0] === undefined || trail[0].isConnected) return;
    const left = trail.filter((element) => element.isConnected && main.contains(element));
    trail = [];
    if (document.activeElement !== document.body) return;
    const heading = left
      .map((element) => element.querySelector<HTMLElement>('h1, h2'))
      .find((found) => found !== null);
    if (!heading) return;
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  });
  main.addEventListener('focusin', onFocus);
  main.addEventListener('focusout', onBlur);
  observer.observe(main, { childList: true, subtree: true });
  return () => {
    main.removeEventListener('focusin', onFocus);
    main.removeEventListener('focusout', onBlur);
    observer.disconnect();
  };
}

function around(inner: Element): Element[] {
  const trail: Element[] = [];
  for (let element: Element | null = inner; element; element = element.parentElement) trail.push(element);
  return trail;
}
