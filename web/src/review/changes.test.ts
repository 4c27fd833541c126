import { QueryClient } from '@tanstack/react-query'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { asListed, changedFiles, type DiffFile, filesAddress, hasLines, linesOf } from './changes'

const PLACE = { key: ['diff', 7], address: '/api/v1/tasks/7/diff' }
const LINES =
  'diff --git a/a.txt b/a.txt\nindex aa..bb 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n'
const file = (change: Partial<DiffFile> = {}): DiffFile => ({
  path: 'a.txt',
  status: 'modified',
  additions: 1,
  deletions: 1,
  binary: false,
  old_id: 'aa',
  new_id: 'bb',
  ...change,
})

/** Answers by the path that is asked for. */
function server(answers: Record<string, Response>) {
  vi.stubGlobal('window', { location: { origin: 'http://x' } })
  vi.stubGlobal(
    'fetch',
    vi.fn(async (path: string) => answers[path] ?? new Response('{}', { status: 404 })),
  )
}

afterEach(() => vi.unstubAllGlobals())

describe('the files of a diff', () => {
  it('are listed beside it, with the same question', () => {
    expect(filesAddress('/api/v1/tasks/7/diff')).toBe('/api/v1/tasks/7/diff/files')
    expect(filesAddress('/api/v1/tasks/7/diff?from=3')).toBe('/api/v1/tasks/7/diff/files?from=3')
  })

  it('are another change when what they were or are is another', () => {
    const sums = [
      file(),
      file({ new_id: 'cc' }),
      file({ old_id: 'cc' }),
      file({ new_mode: '100755' }),
      file({ old_path: 'b.txt', status: 'renamed' }),
    ].map((it) => asListed(it, PLACE).sum)
    expect(new Set(sums).size).toBe(sums.length)
    expect(asListed(file(), PLACE).sum).toBe(sums[0])
  })

  it('have no lines to be read when they were only moved, or are no text', () => {
    expect(hasLines(asListed(file(), PLACE))).toBe(true)
    expect(hasLines(asListed(file({ additions: 0, deletions: 0 }), PLACE))).toBe(false)
    expect(hasLines(asListed(file({ binary: true, additions: 0, deletions: 0 }), PLACE))).toBe(false)
  })

  it('are read out of the whole diff where a pull was never fetched', async () => {
    const address = '/api/v1/pulls/api/9/diff'
    server({ [`${address}/files`]: new Response('{}', { status: 409 }), [address]: new Response(LINES) })
    const [found] = await new QueryClient().fetchQuery(changedFiles({ key: ['x'], address }))
    expect(found).toMatchObject({ path: 'a.txt', added: 1, text: LINES })
  })
})

describe('the lines of a file', () => {
  const read = async (cache: QueryClient, listed: DiffFile) => {
    server({ [`${PLACE.address}?path=a.txt&renames=false`]: new Response(LINES) })
    return cache.fetchQuery({ ...linesOf(asListed(listed, PLACE)), retry: false })
  }

  it('are its part of the patch', async () => {
    const cache = new QueryClient()
    cache.setQueryData(PLACE.key, [])
    expect(await read(cache, file())).toBe(LINES)
    expect(cache.getQueryState(PLACE.key)?.isInvalidated).toBe(false)
  })

  it('ask for the list again when they are newer than it', async () => {
    const cache = new QueryClient()
    cache.setQueryData(PLACE.key, [])
    expect(await read(cache, file({ new_id: 'older' }))).toBe(LINES)
    expect(cache.getQueryState(PLACE.key)?.isInvalidated).toBe(true)
  })

  it('are missed when the file is not different any more', async () => {
    server({ [`${PLACE.address}?path=b.txt&renames=false`]: new Response('') })
    const gone = linesOf(asListed(file({ path: 'b.txt' }), PLACE))
    await expect(new QueryClient().fetchQuery({ ...gone, retry: false })).rejects.toThrow(
      'not there any more',
    )
  })
})
