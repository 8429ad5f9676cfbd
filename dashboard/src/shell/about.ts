import { signal } from '@preact/signals';
import type { About } from '../../../src/operator/api.ts';

/** The server's description of itself; undefined until it is loaded. */
export const about = signal<About | undefined>(undefined);
