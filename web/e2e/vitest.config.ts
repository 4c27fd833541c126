import { defineConfig } from 'vitest/config'

export default defineConfig({
  cacheDir: '../node_modules/.vite-e2e',
  test: {
    root: import.meta.dirname,
    include: ['*.e2e.ts'],
    // One story told in order: a test that fails makes what follows meaningless.
    bail: 1,
    fileParallelism: false,
    testTimeout: 240_000,
    hookTimeout: 60_000,
    reporters: ['verbose', './closing-line.ts'],
  },
})
