import { readdirSync, readFileSync } from 'node:fs';

/** The processes that were started for a task, from the process table. */
export function processesOf(taskId: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`HOLDFAST_TASK=${taskId}`);
      } catch {
        return false;
      }
    })
    .map(Number);
}
