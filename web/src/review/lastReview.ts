/** What is new since a person last read the whole diff: files that changed, and of each what changed in it. */
import type { Moment } from '../task/types'
import type { ReadFile } from './patch'

/**
 * The newest checkpoint, by its place in the timeline: where a review that is done now can be continued from. None while the agent
 * works, for then the diff may be ahead of it.
 */
export function checkpointNow(moments: readonly Moment[] | undefined, isAtWork: boolean): number | undefined {
  return isAtWork ? undefined : moments?.findLast((it) => it.kind === 'checkpoint')?.seq
}

/**
 * The files that were not read as they are now. Where it is known what changed since the review, that part stands for the file
 * and remembers the whole: a file the base alone moved, or one that was never read, is shown as it is.
 */
export function newSince(unread: readonly ReadFile[], changed: readonly ReadFile[] | undefined): ReadFile[] {
  const parts = new Map(changed?.map((file) => [file.path, file]))
  return unread.map((file) => {
    const part = parts.get(file.path)
    return part && part.sum !== file.sum ? { ...part, part: 'review', whole: file } : file
  })
}

/**
 * What changed since a checkpoint. Each part remembers the file against its base, which has none where the change was taken back:
 * lines and states of comments are those of the whole.
 */
export function sinceCheckpoint(changed: readonly ReadFile[], files: readonly ReadFile[]): ReadFile[] {
  const wholes = new Map(files.map((file) => [file.path, file]))
  return changed.map((part) => {
    const whole = wholes.get(part.path)
    if (whole?.sum === part.sum) return whole
    return { ...part, part: 'checkpoint', ...(whole ? { whole } : {}) }
  })
}
