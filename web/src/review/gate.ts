/** What keeps a task from being merged, in one sentence; nothing when nothing does. The server has the last word. */
import type { Check } from '../pull/types'
import type { Task } from '../task/types'

export interface Gate {
  words: string
  /** Asking for the merge would be refused; otherwise it waits for its turn. */
  isShut: boolean
}

export function gate(task: Task, checks: readonly Check[] = []): Gate | undefined {
  if (task.phase !== 'in_review') return undefined
  if (task.want === 'merged') return { words: 'It is in the merge lane.', isShut: true }
  const failed = checks.filter((check) => check.state === 'failed')
  const pending = checks.filter((check) => check.state === 'pending')
  if (failed.length > 0)
    return {
      words: `Not mergeable: ${failed.map((check) => check.name).join(', ')} ${failed.length === 1 ? 'fails' : 'fail'}.`,
      isShut: true,
    }
  if (task.pull?.phase === 'conflicted')
    return { words: `Not mergeable: it conflicts with ${task.base ?? 'its base'}. Rebase it.`, isShut: true }
  if (pending.length > 0)
    return { words: `Waiting for ${pending.map((check) => check.name).join(', ')}.`, isShut: false }
  return undefined
}
