#!/usr/bin/env node
// JavaScript that an old Node can run too, so that it is told why it will not do before it meets what it lacks.
try {
  await import('../dist/check-node.js');
  await import('../dist/cli/main.js');
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
