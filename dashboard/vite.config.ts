/** Builds the dashboard into `dist/`, from where servers show it. Everything it needs is in there: it asks no other host. */
import { defineConfig } from 'vite';

export default defineConfig({
  // Wherever a server puts it, its files are beside it.
  base: './',
  build: {
    target: 'es2023',
    // Embedded as `data:`, files would need a laxer policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
