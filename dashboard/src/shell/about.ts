import { signal } from '@preact/signals';
import type { About } from '../../../src/operator/api.ts';

/** What the server says of itself; undefined until it did. */
export const about = signal<About | undefined>(undefined);
