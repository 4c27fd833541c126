import { describe, expect, it } from 'vitest'
import type { Pull, PullComment } from '../pull/types'
import { aTask } from '../task/sample'
import { gate } from './gate'
import { asRemark, fromOthers, sideOf, stampOf } from './mirror'
import { readFiles } from './patch'
import { type Comment, inOneMessage, isFolded, stateOf, sum } from './review'

const PATCH = `diff --git a/src/a.rs b/src/a.rs
index 1..2 100644
--- a/src/a.rs
+++ b/src/a.rs
@@ -1,2 +1,3 @@
 one
-two
+too
+three
--- is a line of the file, not a name
diff --git a/old name.txt b/new name.txt
similarity index 100%
rename from old name.txt
rename to new name.txt
diff --git a/pic.png b/pic.png
index 1..2 100644
Binary files a/pic.png and b/pic.png differ
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-bye
diff --git "a/s\\303\\251.txt" "b/s\\303\\251.txt"
new file mode 100644
--- /dev/null
+++ "b/s\\303\\251.txt"
@@ -0,0 +1 @@
+x
`

describe('a patch', () => {
  const files = readFiles(PATCH)

  it('is cut into its files, with what happened to each', () => {
    expect(files.map((it) => [it.path, it.kind, it.added, it.removed, it.isBinary])).toEqual([
      ['src/a.rs', 'changed', 2, 2, false],
      ['new name.txt', 'renamed', 0, 0, false],
      ['pic.png', 'changed', 0, 0, true],
      ['gone.txt', 'removed', 0, 1, false],
      ['sé.txt', 'added', 1, 0, false],
    ])
    expect(files[1]?.before).toBe('old name.txt')
  })

  it('loses nothing on the way', () => expect(files.map((it) => it.text).join('')).toBe(PATCH))

  it('of nothing is no files', () => expect(readFiles('')).toEqual([]))

  it('is known again by its sum', () => {
    expect(readFiles(PATCH)[0]?.sum).toBe(files[0]?.sum)
    expect(sum('a')).not.toBe(sum('b'))
  })
})

it.each([
  'Cargo.lock',
  'web/package-lock.json',
  'poetry.lock',
  '.terraform.lock.hcl',
  'go.sum',
  'bun.lockb',
  'dist/app.js',
  'x.min.css',
  'src/api.generated.ts',
  'lib/model.g.dart',
  'zz_generated.deepcopy.go',
  'rpc/user.pb.go',
  'rpc/user_pb2_grpc.py',
  'a/__snapshots__/b.ts.snap',
  'app.js.map',
])('%s is folded', (path) => {
  expect(isFolded(path)).toBe(true)
})

it.each([
  'src/lock.rs',
  'package.json',
  'district/a.js',
  'src/generated.rs',
  'maps/road.ts',
  'lock',
  'gen.go',
  'src/g.ts',
])('%s is not', (path) => expect(isFolded(path)).toBe(false))

describe('a comment', () => {
  const comment: Comment = {
    id: '1',
    path: 'a.rs',
    side: 'additions',
    line: 3,
    code: 'let a = 1;',
    text: 'Why?',
  }

  it('is a draft, then sent, then addressed when its line has changed', () => {
    expect(stateOf(comment, 'let a = 1;', 'aaa')).toBe('draft')
    const sent = { ...comment, sentAt: 'aaa' }
    expect(stateOf(sent, 'let a = 1;', 'aaa')).toBe('sent')
    expect(stateOf(sent, 'let a = 1;', 'bbb')).toBe('sent')
    expect(stateOf(sent, 'let a = 2;', 'bbb')).toBe('addressed')
    expect(stateOf(sent, undefined, 'bbb')).toBe('addressed')
  })

  it('goes with the others in one message, each with its line', () => {
    const text = inOneMessage(
      [comment, { ...comment, line: 9, side: 'deletions', text: 'Keep it.\nPlease.' }],
      'task-4',
    )
    expect(text).toBe(`Review of task-4: 2 comments. Please address each of them, or say why not.

1. \`a.rs:3\`
   > let a = 1;

   Why?

2. \`a.rs:9 (removed)\`
   > let a = 1;

   Keep it.
   Please.`)
  })
})

describe('the gate', () => {
  const task = aTask({ phase: 'in_review', pull: { number: 1, url: '', phase: 'mergeable' } })

  it('is open when nothing blocks', () =>
    expect(gate(task, { checks: [{ name: 'test', state: 'passed' }] })).toBeUndefined())
  it('names what fails', () =>
    expect(gate(task, { checks: [{ name: 'test', state: 'failed' }] })).toEqual({
      words: 'Not mergeable: test fails.',
      isShut: true,
    }))
  it('waits without shutting', () =>
    expect(gate(task, { checks: [{ name: 'test', state: 'pending' }] })).toEqual({
      words: 'Waiting for test.',
      isShut: false,
    }))
  it('asks for a rebase', () =>
    expect(gate({ ...task, pull: { number: 1, url: '', phase: 'conflicted' } })?.words).toContain('Rebase'))
  it('counts approvals against the rules of the repository', () => {
    const pull = { draft: false, verdict: null, approvals: 1 } as unknown as Pull
    expect(gate(task, { pull, approvals: 1 })).toBeUndefined()
    expect(gate(task, { pull, approvals: 2 })).toEqual({
      words: 'Not mergeable: one more approval is missing.',
      isShut: true,
    })
    expect(gate(task, { pull, approvals: 3 })?.words).toContain('2 more approvals')
    expect(gate(task, { pull: { ...pull, verdict: 'changes_requested' } })?.words).toContain('wants changes')
    expect(gate(task, { pull: { ...pull, draft: true } })?.isShut).toBe(true)
  })
  it('says when it is on its way', () => expect(gate({ ...task, want: 'merged' })?.isShut).toBe(true))
  it('has nothing to say before there is a review', () =>
    expect(gate(aTask({ phase: 'working' }))).toBeUndefined())
})

describe('a comment at the pull request', () => {
  const own: Comment = { id: 'mabc-1', path: 'a.rs', side: 'deletions', line: 3, code: 'two', text: 'Why?' }
  it('names its line, and has a stamp that makes it one', () =>
    expect(asRemark(7, own)).toEqual({
      body: 'Why?',
      path: 'a.rs',
      line: 3,
      side: 'old',
      stamp: 'review.7.mabc-1',
    }))
  it('is not shown twice to whoever wrote it', () => {
    const remark = (id: string, stamp?: string) => ({ id, stamp, side: 'old' }) as unknown as PullComment
    const all = [remark('1', stampOf(7, own.id)), remark('2', stampOf(7, 'other')), remark('3')]
    expect(fromOthers(all, 7, [own]).map((it) => it.id)).toEqual(['2', '3'])
    expect(sideOf(all[0] as PullComment)).toBe('deletions')
  })
})
