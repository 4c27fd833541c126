import { describe, expect, it } from 'vitest'
import { type Folder, treeOf } from './tree'

const drawn = (folder: Folder<{ path: string }>): unknown => ({
  ...Object.fromEntries(folder.folders.map((it) => [it.name, drawn(it)])),
  ...(folder.files.length > 0 ? { '': folder.files.map((it) => it.path.split('/').at(-1)) } : {}),
})

describe('changed files', () => {
  it('stand in their folders, and folders of one folder are one step', () => {
    const paths = ['Cargo.lock', 'web/src/ui/a.ts', 'web/src/ui/b.ts', 'web/src/c.ts', 'docs/guides/board.md']
    expect(drawn(treeOf(paths.map((path) => ({ path }))))).toEqual({
      'web/src': { ui: { '': ['a.ts', 'b.ts'] }, '': ['c.ts'] },
      'docs/guides': { '': ['board.md'] },
      '': ['Cargo.lock'],
    })
  })
})
