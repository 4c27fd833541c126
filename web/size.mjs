/** How much script the board loads at first, as it travels. Past the aim the build fails: what is not needed at once comes later. */
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { gzipSync } from 'node:zlib'

const MOST = 250_000
const DIST = join(import.meta.dirname, 'dist')

const page = readFileSync(join(DIST, 'index.html'), 'utf8')
const named = [...page.matchAll(/(?:src|href)="\/app\/([^"]+\.js)"/g)].map(([, path]) => path)
if (named.length === 0) throw new Error('dist/index.html names no script: was it built?')

// What a script imports at its top comes with it, whether or not the page names it.
const wanted = new Map()
for (const queue = [...named]; queue.length > 0; ) {
  const path = queue.pop()
  if (wanted.has(path)) continue
  const text = readFileSync(join(DIST, path), 'utf8')
  wanted.set(path, gzipSync(text, { level: 9 }).length)
  for (const [, file] of text.matchAll(
    /(?:^|[;}\n])\s*(?:import|export)(?:[^"'();]*?from)?\s*["']\.\/([^"']+\.js)["']/g,
  ))
    queue.push(`assets/${file}`)
}
const all = [...wanted.values()].reduce((sum, size) => sum + size, 0)
const kilobytes = (size) => `${(size / 1000).toFixed(1)} kB`
console.log(
  `The board first loads ${kilobytes(all)} of script, gzipped, in ${wanted.size} files (aim: under ${kilobytes(MOST)})`,
)
if (all >= MOST) {
  for (const [path, size] of [...wanted].sort((a, b) => b[1] - a[1]).slice(0, 10))
    console.error(`  ${kilobytes(size).padStart(10)}  ${basename(path)}`)
  process.exit(1)
}
