/** How the pull of a card stands, in one word. What failed is louder than all that could still come of it. */
import type { Task } from '../task/types'

export type RingState = 'failed' | 'conflicted' | 'checking' | 'mergeable' | 'open'

export function ringOf(task: Pick<Task, 'pull' | 'needs'>): RingState | undefined {
  const { pull, needs } = task
  if (!pull || pull.phase === 'merged' || pull.phase === 'closed') return undefined
  // The merge lane has a check of its own, which is no check of the pull: its task says how that ended.
  if (pull.checks === 'failed' || needs?.reason === 'checks_failed') return 'failed'
  return pull.phase
}
