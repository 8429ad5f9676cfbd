/**
 * The current page as an address that can be shared. Everything is in the query, so that the server has to serve only
 * one page:
 *
 *     /operator/                                     the overview; ?window=24h
 *     /operator/?view=tasks&status=failed&tool=…     the list; also owner, age, text
 *     /operator/?task=ID                             one task; &part=… for a part of its page
 */
import { signal } from '@preact/signals';
import { type TaskStatus, taskStatuses } from '../../src/model/status.ts';

export const spans = {
  '15m': { ms: 15 * 60_000, name: '15 minutes', short: '15 min' },
  '1h': { ms: 3_600_000, name: 'hour', short: '1 h' },
  '24h': { ms: 24 * 3_600_000, name: '24 hours', short: '24 h' },
  '7d': { ms: 7 * 24 * 3_600_000, name: '7 days', short: '7 d' },
} as const;

export type Span = keyof typeof spans;

/** The filter in the address. An age stays relative, so that a shared address means the same tomorrow. */
export interface ListFilter {
  readonly statuses: readonly TaskStatus[];
  readonly tool?: string;
  readonly owner?: string;
  readonly age?: Span;
  readonly text?: string;
}

export type Route =
  | { readonly view: 'overview'; readonly window: Span }
  | { readonly view: 'tasks'; readonly filter: ListFilter }
  | { readonly view: 'task'; readonly id: string; readonly part?: string };

export const everything: ListFilter = { statuses: [] };

export const route = signal<Route>({ view: 'overview', window: '1h' });

/** Incremented on every navigation to another page, whose heading then takes the focus. */
export const arrivals = signal(0);

export function routeOf(search: string): Route {
  const params = new URLSearchParams(search);
  const id = params.get('task');
  if (id) return { view: 'task', id, ...given('part', params.get('part')) };
  if (params.get('view') === 'tasks') return { view: 'tasks', filter: filterOf(params) };
  return { view: 'overview', window: spanOf(params.get('window')) ?? '1h' };
}

/** The address of a route, relative to the dashboard's own. */
export function href(to: Route): string {
  const params = new URLSearchParams();
  if (to.view === 'task') {
    params.set('task', to.id);
    if (to.part) params.set('part', to.part);
  } else if (to.view === 'tasks') {
    params.set('view', 'tasks');
    for (const status of to.filter.statuses) params.append('status', status);
    for (const name of ['tool', 'owner', 'age', 'text'] as const) {
      const value = to.filter[name];
      if (value) params.set(name, value);
    }
  } else if (to.window !== '1h') params.set('window', to.window);
  return params.size > 0 ? `?${params}` : './';
}

/** `replace` is for refinements of the same page: it adds no entry to the browser's history. */
export function navigate(to: Route, { replace = false } = {}): void {
  const isSamePage = pageOf(to) === pageOf(route.value);
  if (replace) history.replaceState(history.state, '', href(to));
  else {
    rememberScroll();
    history.pushState(null, '', href(to));
  }
  route.value = to;
  if (!isSamePage) {
    arrivals.value++;
    scrollTo(0, 0);
  }
}

/** Reads the address and starts to handle links and the browser's back and forward buttons. */
export function startRouter(): void {
  history.scrollRestoration = 'manual';
  route.value = routeOf(location.search);
  addEventListener('popstate', () => {
    const before = pageOf(route.value);
    route.value = routeOf(location.search);
    if (pageOf(route.value) !== before) arrivals.value++;
    const top = Number(history.state?.scroll ?? 0);
    // The page must be rendered before it can be scrolled.
    requestAnimationFrame(() => requestAnimationFrame(() => scrollTo(0, top)));
  });
  addEventListener('click', followLink);
}

function followLink(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element).closest?.('a[href]');
  if (!(link instanceof HTMLAnchorElement) || link.target || link.hasAttribute('download')) return;
  const url = new URL(link.href);
  if (url.origin !== location.origin || url.pathname !== location.pathname || url.hash) return;
  event.preventDefault();
  navigate(routeOf(url.search));
}

function rememberScroll(): void {
  history.replaceState({ ...history.state, scroll: scrollY }, '');
}

function pageOf(to: Route): string {
  return to.view === 'task' ? `task ${to.id}` : to.view;
}

function filterOf(params: URLSearchParams): ListFilter {
  const named = new Set(params.getAll('status'));
  const age = spanOf(params.get('age'));
  return {
    statuses: taskStatuses.filter((status) => named.has(status)),
    ...given('tool', params.get('tool')),
    ...given('owner', params.get('owner')),
    ...(age && { age }),
    ...given('text', params.get('text')),
  };
}

function spanOf(value: string | null): Span | undefined {
  return value !== null && Object.hasOwn(spans, value) ? (value as Span) : undefined;
}

function given<K extends string>(name: K, value: string | null): { [key in K]?: string } {
  return value ? ({ [name]: value } as { [key in K]: string }) : {};
}
