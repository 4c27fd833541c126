import type { Reporter, TestModule } from 'vitest/node'

/** Ends the run with `N passed, N failed`, for scripts that add such lines up. Unhandled errors count as a failure. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    let passed = 0
    let failed = unhandled.length
    for (const module of modules) {
      if (module.errors().length > 0) failed += 1
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === 'passed') passed += 1
        else if (state === 'failed') failed += 1
      }
    }
    // After the other reporters have said theirs.
    process.once('exit', () => console.log(`${passed} passed, ${failed} failed`))
  }
}
