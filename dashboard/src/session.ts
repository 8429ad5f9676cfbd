/**
 * The operator's token, kept while the tab is open. It arrives in the fragment of the address, which browsers do not
 * send, and is removed from the address first of all, so that no copied or saved address contains it.
 */
import { computed, signal } from '@preact/signals';
import { HttpOperatorApi } from './api.ts';
import { freeze } from './clock.ts';

const key = 'holdfast.token';

export const token = signal<string | undefined>(undefined);

/** Why the user was signed out. */
export const signedOutBecause = signal<'refused' | undefined>(undefined);

/** The operator API with the current token; undefined while signed out. */
export const operatorApi = computed(() =>
  token.value === undefined ? undefined : new HttpOperatorApi(token.value),
);

/** Call once, before anything reads the address. `#now=MILLISECONDS` stops the clock, for screenshots. */
export function beginSession(): void {
  takeFragment();
  token.value ??= sessionStorage.getItem(key) ?? undefined;
  // If the dashboard is already open, a link with a token changes only the fragment.
  addEventListener('hashchange', takeFragment);
}

export function signIn(given: string): void {
  const trimmed = given.trim();
  sessionStorage.setItem(key, trimmed);
  signedOutBecause.value = undefined;
  token.value = trimmed;
}

export function signOut(because?: 'refused'): void {
  sessionStorage.removeItem(key);
  signedOutBecause.value = because;
  token.value = undefined;
}

function takeFragment(): void {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const given = fragment.get('token');
  const now = Number(fragment.get('now') ?? Number.NaN);
  if (given === null && Number.isNaN(now)) return;
  history.replaceState(history.state, '', `${location.pathname}${location.search}`);
  if (given) signIn(given);
  if (!Number.isNaN(now)) freeze(now);
}
