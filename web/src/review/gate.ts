/** What keeps a task from being merged, in one sentence; nothing when nothing does. The server has the last word. */
import type { Task } from '../task/types'

export function gate(task: Task): string | undefined {
  if (task.phase !== 'in_review') return undefined
  const checks = task.pull?.checks ?? []
  const failed = checks.filter((check) => check.state === 'failed')
  const running = checks.filter((check) => check.state === 'running')
  if (failed.length > 0)
    return `Not mergeable: ${failed.map((check) => check.name).join(', ')} ${failed.length === 1 ? 'fails' : 'fail'}.`
  if (task.pull?.phase === 'conflicted')
    return `Not mergeable: it conflicts with ${task.base ?? 'its base'}. Rebase it.`
  if (running.length > 0) return `Waiting for ${running.map((check) => check.name).join(', ')}.`
  if (task.pull?.phase === 'checking') return 'Being checked on the merged result.'
  return undefined
}
