#!/usr/bin/env node
// Plain JavaScript that an old Node can run, so that it prints the version error before it fails on newer syntax.
import { existsSync } from 'node:fs';

// A checkout runs its sources, never an old build. The published package contains only the build.
const isCheckout = existsSync(new URL('../src', import.meta.url));
try {
  await import(isCheckout ? '../src/check-node.ts' : '../dist/check-node.js');
  await import(isCheckout ? '../src/cli/main.ts' : '../dist/cli/main.js');
} catch (error) {
  console.error(
    error.code === 'ERR_UNKNOWN_FILE_EXTENSION'
      ? `Node ${process.versions.node} is too old to run Holdfast: use the Node that npm ci installed, as npm start does.`
      : error.message,
  );
  process.exitCode = 1;
}
