import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import type { Plugin } from 'vite'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  base: '/app/',
  plugins: [react(), tailwindcss(), fontLicenses(['source-sans-3', 'source-serif-4', 'source-code-pro'])],
  resolve: {
    alias: [
      // The highlighter knows three hundred languages and two engines. What people review here is a few dozen, in one.
      { find: /^shiki\/langs$/, replacement: here('src/review/slim/langs.ts') },
      {
        find: /^(shiki\/wasm|shiki\/engine\/oniguruma|@pierre\/highlights)$/,
        replacement: here('src/review/slim/none.ts'),
      },
    ],
  },
  server: {
    proxy: {
      '/api': { target: process.env.CARREL_URL ?? 'http://127.0.0.1:7070' },
    },
  },
  build: {
    outDir: 'dist',
    // Our content policy allows no data: fonts, so nothing is inlined.
    assetsInlineLimit: 0,
    // The tokens rely on light-dark(); older targets would have it rewritten.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    // The board itself is one file; the task page, the terminal, the diff and the charts come when they are first wanted.
    chunkSizeWarningLimit: 700,
    license: { fileName: 'licenses/scripts.md' },
  },
  test: { include: ['src/**/*.test.ts'] },
})

function here(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url))
}

/** The licence of a font travels with the font; Vite's own list knows only of scripts. */
function fontLicenses(fonts: readonly string[]): Plugin {
  return {
    name: 'font-licenses',
    apply: 'build',
    generateBundle() {
      for (const font of fonts) {
        const source = readFileSync(`node_modules/@fontsource-variable/${font}/LICENSE`, 'utf8')
        this.emitFile({ type: 'asset', fileName: `licenses/${font}.txt`, source })
      }
    },
  }
}
