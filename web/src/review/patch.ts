/** A diff as files. What a file holds is parsed when the file comes into sight; its name and size are known at once. */
import type { DiffPlace } from '../task/queries'
import { sum } from './review'

export interface ReadFile {
  path: string
  before?: string
  kind: 'changed' | 'added' | 'removed' | 'renamed'
  isBinary: boolean
  added: number
  removed: number
  lines: number
  /** The file's own part of the patch, where the whole patch was read. */
  text?: string
  /** A short sum of what changed, to know it again. */
  sum: string
  /** What it was and what it is, as git names them: `old..new`. */
  ids?: string
  /** Where its lines are read. */
  place?: DiffPlace
  /** This is not the file against its base, but what changed in it since then. */
  part?: 'review' | 'checkpoint'
  /** The file against its base, where this is a part of that. */
  whole?: ReadFile
}

/** Cuts a patch into its files. Only lines' first letters are looked at, so a patch of many megabytes is quick. */
export function readFiles(patch: string): ReadFile[] {
  const starts: number[] = []
  for (const found of patch.matchAll(/^diff --git /gm)) starts.push(found.index)
  return starts.map((start, at) => readFile(patch.slice(start, starts[at + 1] ?? patch.length)))
}

function readFile(text: string): ReadFile {
  const lines = text.split('\n')
  let before: string | undefined
  let after: string | undefined
  let kind: ReadFile['kind'] = 'changed'
  let isBinary = false
  let added = 0
  let removed = 0
  let ids: string | undefined
  let isInHunk = false
  for (const line of lines) {
    if (line.startsWith('@@')) {
      isInHunk = true
    } else if (isInHunk) {
      if (line.startsWith('+')) added += 1
      else if (line.startsWith('-')) removed += 1
    } else if (line.startsWith('--- ')) before = path(line.slice(4), 'a/')
    else if (line.startsWith('+++ ')) after = path(line.slice(4), 'b/')
    else if (line.startsWith('rename from ')) {
      before = unquote(line.slice(12))
      kind = 'renamed'
    } else if (line.startsWith('index ')) ids = line.split(' ')[1]
    else if (line.startsWith('rename to ')) after = unquote(line.slice(10))
    else if (line.startsWith('new file mode')) kind = 'added'
    else if (line.startsWith('deleted file mode')) kind = 'removed'
    else if (line.startsWith('Binary files ') || line.startsWith('GIT binary patch')) isBinary = true
  }
  const name = after ?? before ?? fromHead(lines[0] ?? '')
  return {
    path: name,
    ...(before && before !== name ? { before } : {}),
    kind,
    isBinary,
    added,
    removed,
    lines: added + removed,
    text,
    sum: sum(text),
    ...(ids ? { ids } : {}),
  }
}

/**
 * The first lines of a file's part of a patch, as a patch of its own: drawing tens of thousands at once stops the page for
 * seconds. Lines keep their numbers. The text itself when it is no longer than that.
 */
export function beginning(text: string, most: number): string {
  const lines = text.split('\n')
  const kept: string[] = []
  /** Where the head of the hunk at hand stands, and how many lines of each side came after it. */
  let head = -1
  let [before, after, shown] = [0, 0, 0]
  const close = () => {
    if (head < 0) return
    const [, old = '0', fresh = '0', rest = ''] =
      /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)$/.exec(kept[head] ?? '') ?? []
    kept[head] = `@@ -${old},${before} +${fresh},${after} @@${rest}`
  }
  for (const [at, line] of lines.entries()) {
    // What comes after the last newline is no line.
    const isEnd = line === '' && at === lines.length - 1
    if (isEnd) {
      kept.push(line)
    } else if (line.startsWith('@@')) {
      if (shown >= most) break
      head = kept.length
      ;[before, after] = [0, 0]
    } else if (head >= 0) {
      if (shown >= most && !line.startsWith('\\')) {
        close()
        return `${kept.join('\n')}\n`
      }
      if (line.startsWith('-')) before += 1
      else if (line.startsWith('+')) after += 1
      else if (line.startsWith(' ')) [before, after] = [before + 1, after + 1]
      if (!line.startsWith('\\')) shown += 1
    }
    if (!isEnd) kept.push(line)
  }
  return kept.length === lines.length ? text : `${kept.join('\n')}\n`
}

/** A path of a `---` or `+++` line; nothing for `/dev/null`. */
function path(text: string, prefix: string): string | undefined {
  const name = unquote(text.replace(/\t.*$/, ''))
  if (name === '/dev/null') return undefined
  return name.startsWith(prefix) ? name.slice(prefix.length) : name
}

/** Names with odd letters come in quotes, as C writes them. */
function unquote(text: string): string {
  if (!text.startsWith('"') || !text.endsWith('"')) return text
  const bytes: number[] = []
  const inner = text.slice(1, -1)
  for (let at = 0; at < inner.length; at += 1) {
    if (inner[at] !== '\\') {
      bytes.push(...new TextEncoder().encode(inner[at]))
      continue
    }
    const octal = /^[0-7]{3}/.exec(inner.slice(at + 1))
    if (octal) {
      bytes.push(Number.parseInt(octal[0], 8))
      at += 3
    } else {
      at += 1
      const letter = inner[at] ?? ''
      bytes.push(...new TextEncoder().encode({ n: '\n', t: '\t' }[letter] ?? letter))
    }
  }
  return new TextDecoder().decode(new Uint8Array(bytes))
}

/** A file without hunks (an empty one, a binary, a change of mode) is named in its first line alone. */
function fromHead(line: string): string {
  const names = line.slice('diff --git '.length)
  // Both names are the same but for their first letter, so the middle parts them.
  const half = names.slice(0, (names.length - 1) / 2)
  return unquote(half).replace(/^a\//, '')
}
