/** Writes every sentence of the page into `src/words/catalogue.json`; with `--check`, says whether it is as it was written. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

const FILE = 'src/words/catalogue.json'
const DOORS = new Set(['t', 'tn', 'rich'])

function files(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((it) => it.isFile() && /\.tsx?$/.test(it.name) && !/\.test\.tsx?$|\.d\.ts$/.test(it.name))
    .map((it) => join(it.parentPath, it.name))
    .sort()
}

const sentences = new Set()
const strangers = []
for (const file of files('src')) {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true)
  const visit = (node) => {
    node.forEachChild(visit)
    if (!ts.isCallExpression(node) || !ts.isIdentifier(node.expression)) return
    const door = node.expression.text
    if (!DOORS.has(door) || file.endsWith('words/words.ts')) return
    const wanted = node.arguments.slice(door === 'tn' ? 1 : 0, door === 'tn' ? 3 : 1)
    const said = wanted.map((it) => (ts.isStringLiteralLike(it) ? it.text : undefined))
    const { line } = source.getLineAndCharacterOfPosition(node.getStart())
    if (said.includes(undefined)) strangers.push(`${file}:${line + 1}`)
    else sentences.add(said.join(' | '))
  }
  visit(source)
}

if (strangers.length > 0) {
  console.error(
    `A sentence must stand where it is said, for translators to find it:\n${strangers.join('\n')}`,
  )
  process.exit(1)
}
const text = `${JSON.stringify([...sentences].sort(), null, 2)}\n`
if (process.argv.includes('--check')) {
  let kept = ''
  try {
    kept = readFileSync(FILE, 'utf8')
  } catch {
    // It was never written.
  }
  if (kept !== text) {
    console.error(`${FILE} has drifted: run \`npm run words\`.`)
    process.exit(1)
  }
} else {
  writeFileSync(FILE, text)
  console.log(`${sentences.size} sentences`)
}
