import { describe, expect, it } from 'vitest'
import { beginning, readFiles } from './patch'

const HEAD = 'diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n'

describe('the beginning of a long file', () => {
  it('is the file itself when it is not long', () => {
    const text = `${HEAD}@@ -1,2 +1,2 @@\n-one\n+two\n three\n`
    expect(beginning(text, 3)).toBe(text)
    expect(beginning(text, 100)).toBe(text)
    const short = `${HEAD}@@ -1 +1 @@\n-one\n+two\n`
    expect(beginning(short, 2)).toBe(short)
  })

  it('ends in the middle of a hunk, whose head then says how many lines it has', () => {
    const text = `${HEAD}@@ -10,3 +10,4 @@ fn a()\n one\n-two\n+three\n+four\n five\n`
    expect(beginning(text, 3)).toBe(`${HEAD}@@ -10,2 +10,2 @@ fn a()\n one\n-two\n+three\n`)
  })

  it('leaves out later hunks, and keeps earlier ones as they are', () => {
    const first = '@@ -1 +1,2 @@\n one\n+two\n'
    const text = `${HEAD}${first}@@ -50,2 +51,1 @@\n x\n-y\n`
    expect(beginning(text, 2)).toBe(`${HEAD}${first}`)
    expect(beginning(text, 3)).toBe(`${HEAD}${first}@@ -50,1 +51,1 @@\n x\n`)
  })

  it('keeps the word about a missing last newline beside its line', () => {
    const text = `${HEAD}@@ -1 +1 @@\n-one\n\\ No newline at end of file\n+two\n\\ No newline at end of file\n`
    expect(beginning(text, 1)).toBe(`${HEAD}@@ -1,1 +1,0 @@\n-one\n\\ No newline at end of file\n`)
  })

  it('is a patch that can be read again', () => {
    const many = Array.from({ length: 500 }, (_, at) => `+line ${at}\n`).join('')
    const [file] = readFiles(beginning(`${HEAD}@@ -0,0 +1,500 @@\n${many}`, 100))
    expect(file).toMatchObject({ path: 'a.txt', added: 100, removed: 0 })
  })
})
