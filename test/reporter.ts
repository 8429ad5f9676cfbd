import type { Reporter, SerializedError, TestModule } from 'vitest/node';

/**
 * Ends every run with `N passed, N failed`, the one line that people and scripts look for. A run with a name
 * (`HOLDFAST_RUN`) puts it in front: `NAME: N passed, N failed`.
 */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    let passed = 0;
    let failed = unhandled.length;
    let skipped = 0;
    for (const module of modules) {
      failed += module.errors().length;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === 'passed') passed++;
        else if (state === 'failed') failed++;
        else skipped++;
      }
    }
    const name = process.env.HOLDFAST_RUN ? `${process.env.HOLDFAST_RUN}: ` : '';
    const line = `${name}${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}`;
    process.once('exit', () => console.log(line));
  }
}
