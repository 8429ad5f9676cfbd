/**
 * The focus of whoever stood at a control that goes away: an answered form, a confirmed dialog, a row that left. Browsers
 * drop it, and a screen reader begins the page anew; here the heading of the part that it stood in takes it.
 */

/** Looks after the focus inside `main` until the function that is given back is called. */
export function keepFocus(main: HTMLElement): () => void {
  /** What has the focus, and all that is around it, from the inside out. */
  let trail: Element[] = [];
  const onFocus = ({ target }: FocusEvent) => {
    trail = around(target as Element);
  };
  const onBlur = ({ target }: FocusEvent) => {
    // What is still there a moment later was left on purpose.
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
