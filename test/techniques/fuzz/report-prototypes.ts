/** Loaded into a server before anything else: it ends with the exit code 3 if a message has reached a prototype. */
import { newMembers } from './mistakes.ts';

process.on('exit', () => {
  if (newMembers().length === 0) return;
  console.error(`New members: ${newMembers()}`);
  process.exitCode = 3;
});
