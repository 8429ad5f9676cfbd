/** The colour scheme: the system's, unless the user chose another. The choice is stored in this browser. */
import { effect, signal } from '@preact/signals';

export const schemes = ['system', 'light', 'dark'] as const;
export type Scheme = (typeof schemes)[number];

const key = 'holdfast.colours';

export const scheme = signal<Scheme>('system');

export function startColours(): void {
  const kept = localStorage.getItem(key);
  scheme.value = schemes.find((known) => known === kept) ?? 'system';
  effect(() => {
    document.documentElement.dataset.colours = scheme.value;
    if (scheme.value === 'system') localStorage.removeItem(key);
    else localStorage.setItem(key, scheme.value);
  });
}

/** The scheme that the button switches to. */
export function nextScheme(): Scheme {
  return schemes[(schemes.indexOf(scheme.value) + 1) % schemes.length]!;
}
