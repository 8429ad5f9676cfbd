/**
 * Whose eyes the dashboard has: the token, for as long as the tab is open. It comes in the fragment of the address,
 * which is sent to nobody, and leaves the address before anything else happens, so that no address that is copied
 * or remembered has it.
 */
import { computed, signal } from '@preact/signals';
import { HttpDesk } from './api.ts';
import { freeze } from './clock.ts';

const key = 'holdfast.token';

export const token = signal<string | undefined>(undefined);

/** Why there is no token any more, if there was one. */
export const signedOutBecause = signal<'refused' | undefined>(undefined);

/** The desk to ask; undefined while nobody is signed in. */
export const desk = computed(() => (token.value === undefined ? undefined : new HttpDesk(token.value)));

/** Call once, before anything reads the address. `#now=MILLISECONDS` stops the clock, for pictures. */
export function beginSession(): void {
  takeFragment();
  token.value ??= sessionStorage.getItem(key) ?? undefined;
  // A link with a token that is opened where the dashboard is open already changes only the fragment.
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
