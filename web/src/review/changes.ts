/** What is read of a diff: its files at once, and the lines of a file when it comes into sight. */
import { queryOptions } from '@tanstack/react-query'
import { call, callJson } from '../api/call'
import { Refusal } from '../api/problem'
import type { components } from '../api/schema'
import type { DiffPlace } from '../task/queries'
import { t } from '../words/words'
import { Gathering } from './gathering'
import { type ReadFile, readFiles } from './patch'
import { sum } from './review'

export type DiffFile = components['schemas']['DiffFileView']

const KINDS = { added: 'added', modified: 'changed', removed: 'removed', renamed: 'renamed' } as const

/** The files of a diff. A pull whose branch was never fetched has no list: then the whole of it is read. */
export const changedFiles = (place: DiffPlace) =>
  queryOptions({
    queryKey: place.key,
    queryFn: async ({ signal }): Promise<ReadFile[]> => {
      const { address } = place
      try {
        const { items } = await callJson<{ items: DiffFile[] }>(filesAddress(address), { signal })
        return items.map((file) => asListed(file, place))
      } catch (error) {
        const isUnfetched =
          error instanceof Refusal && error.status === 409 && address.startsWith('/api/v1/pulls/')
        if (!isUnfetched) throw error
        return readFiles(await (await call(address, { signal })).text())
      }
    },
    staleTime: 10_000,
  })

/** `…/diff?from=3` has its files at `…/diff/files?from=3`. */
export const filesAddress = (address: string) => address.replace(/(?=\?|$)/, '/files')

export function asListed(file: DiffFile, place: DiffPlace): ReadFile {
  const ids = `${file.old_id ?? ''}..${file.new_id ?? ''}`
  return {
    path: file.path,
    ...(file.old_path ? { before: file.old_path } : {}),
    kind: KINDS[file.status],
    isBinary: file.binary,
    added: file.additions,
    removed: file.deletions,
    lines: file.additions + file.deletions,
    sum: sum(`${file.old_mode ?? ''} ${file.new_mode ?? ''} ${ids} ${file.old_path ?? ''}`),
    ids,
    place,
  }
}

const gathering = new Gathering(async (address) => (await call(address)).text())

/** Whether there is more to a file than the list says. */
export const hasLines = (file: ReadFile) => !file.isBinary && (file.lines > 0 || Boolean(file.text))

/** The lines of a file, as its part of the patch. They are kept for as long as the file is what it was. */
export const linesOf = (file: ReadFile) =>
  queryOptions({
    queryKey: ['diff-lines', file.place?.address ?? '', file.path, file.sum] as const,
    queryFn: async ({ client }): Promise<string> => {
      if (file.text !== undefined) return file.text
      const { key, address } = file.place ?? { key: [], address: '' }
      const { path, before, lines } = file
      const part = readFiles(await gathering.want({ address, path, before, lines }))
      const found = part.find((it) => it.path === path)
      // The agent went on in the meantime: the list is older than the lines.
      if (!isSame(found?.ids, file.ids)) void client.invalidateQueries({ queryKey: key })
      if (found?.text === undefined) throw new Error(t('Its lines are not there any more.'))
      return found.text
    },
    staleTime: Number.POSITIVE_INFINITY,
    retry: 1,
  })

/** A file that is new or gone has zeros on one side of its patch, and nothing in the list. */
function isSame(told: string | undefined, listed: string | undefined): boolean {
  const [old = '', fresh = ''] = (listed ?? '').split('..')
  const [before = '', after = ''] = (told ?? '').split('..')
  const none = /^0*$/
  return (none.test(before) ? '' : before) === old && (none.test(after) ? '' : after) === fresh
}
