import { describe, expect, it } from 'vitest'
import { aMoment } from '../task/sample'
import { checkpointNow, newSince, sinceCheckpoint } from './lastReview'
import { readFiles } from './patch'

const patch = (path: string, ...lines: string[]) =>
  `diff --git a/${path} b/${path}\n--- a/${path}\n+++ b/${path}\n@@ -1,1 +1,${lines.length + 1} @@\n one\n${lines.map((it) => `+${it}\n`).join('')}`

describe('a review that goes on', () => {
  it('begins at the newest checkpoint, and nowhere while the agent works', () => {
    const moments = [
      aMoment({ seq: 3, kind: 'checkpoint' }),
      aMoment({ seq: 9, kind: 'checkpoint' }),
      aMoment({ seq: 10, kind: 'message' }),
    ]
    expect(checkpointNow(moments, false)).toBe(9)
    expect(checkpointNow(moments, true)).toBeUndefined()
    expect(checkpointNow(moments.slice(2), false)).toBeUndefined()
    expect(checkpointNow(undefined, false)).toBeUndefined()
  })

  it('shows of a file what changed in it, and remembers the whole', () => {
    const [whole] = readFiles(patch('a.txt', 'two', 'three'))
    const changed = readFiles(patch('a.txt', 'three') + patch('elsewhere.txt', 'moved with the base'))
    const [file, ...rest] = newSince(whole ? [whole] : [], changed)
    expect(rest).toEqual([])
    expect(file).toMatchObject({ path: 'a.txt', added: 1, whole: { added: 2, sum: whole?.sum } })
  })

  it('shows a file whole that is new, or of which nothing more is known', () => {
    const files = readFiles(patch('new.txt', 'two') + patch('other.txt', 'two'))
    const changed = readFiles(patch('new.txt', 'two'))
    expect(newSince(files, changed)).toEqual(files)
    expect(newSince(files, undefined)).toEqual(files)
  })
})

describe('what changed since a checkpoint', () => {
  it('is a part of the file, and remembers the whole', () => {
    const files = readFiles(patch('a.txt', 'two', 'three') + patch('b.txt', 'two'))
    const [part, ...rest] = sinceCheckpoint(readFiles(patch('a.txt', 'three')), files)
    expect(rest).toEqual([])
    expect(part).toMatchObject({ path: 'a.txt', added: 1, part: 'checkpoint', whole: { added: 2 } })
  })

  it('is a part also where nothing of it is left against the base', () => {
    const [part] = sinceCheckpoint(readFiles(patch('taken-back.txt', 'two')), [])
    expect(part).toMatchObject({ path: 'taken-back.txt', part: 'checkpoint' })
    expect(part?.whole).toBeUndefined()
  })

  it('is the file itself where it is new since then', () => {
    const files = readFiles(patch('new.txt', 'two'))
    expect(sinceCheckpoint(files, files)).toEqual(files)
  })
})
