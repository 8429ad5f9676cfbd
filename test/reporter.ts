import type { Reporter, SerializedError, TestModule } from 'vitest/node';

/**
 * Ends every run with `N passed, N failed`, the one line that people and scripts look for. A test that passed only when it
 * was tried again is named before that: it is no proof of a fault, and no proof that there is none.
 */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    let passed = 0;
    let failed = unhandled.length;
    let skipped = 0;
    const unsteady: string[] = [];
    for (const module of modules) {
      failed += module.errors().length;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (test.diagnostic()?.flaky)
          unsteady.push(`passed at the second try: ${module.relativeModuleId} > ${test.fullName}`);
        if (state === 'passed') passed++;
        else if (state === 'failed') failed++;
        else skipped++;
      }
    }
    const line = `${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}`;
    process.once('exit', () => console.log([...unsteady, line].join('\n')));
  }
}
