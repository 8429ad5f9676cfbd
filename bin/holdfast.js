#!/usr/bin/env node
// JavaScript that an old Node can run too, so that it is told why it will not do before it meets what it lacks.
import { existsSync } from 'node:fs';

// A checkout runs its sources, never an old build; the published package holds only what was built from them.
const isCheckout = existsSync(new URL('../src', import.meta.url));
try {
  await import(isCheckout ? '../src/check-node.ts' : '../dist/check-node.js');
  await import(isCheckout ? '../src/cli/main.ts' : '../dist/cli/main.js');
} catch (error) {
  console.error(
    error.code === 'ERR_UNKNOWN_FILE_EXTENSION'
      ? `Node ${process.versions.node} is too old to run Holdfast: use the one that npm ci brought, as npm start does.`
      : error.message,
  );
  process.exitCode = 1;
}
