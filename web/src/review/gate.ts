/** What keeps a task or a pull from being merged, in one sentence; nothing when nothing does. The server has the last word. */
import { useQuery } from '@tanstack/react-query'
import { repos } from '../api/queries'
import { useChecks, usePull } from '../pull/queries'
import { type Check, isPullOver, type Pull } from '../pull/types'
import type { Task } from '../task/types'
import { t, tn } from '../words/words'

export interface Gate {
  words: string
  /** Asking for the merge would be refused; otherwise it waits for its turn. */
  isShut: boolean
}

/** What is known of a task's pull beside the task itself. */
export interface Known {
  checks?: readonly Check[] | undefined
  pull?: Pull | undefined
  /** How many must approve. */
  approvals?: number | undefined
}

export function gate(task: Task, known: Known = {}): Gate | undefined {
  if (task.phase !== 'in_review') return undefined
  if (task.want === 'merged') return { words: t('It is in the merge lane.'), isShut: true }
  return pullGate({ phase: task.pull?.phase, base: task.base }, known)
}

/** The same of a pull that is open. */
export function pullGate(
  { phase, base }: { phase?: Pull['phase'] | undefined; base?: string | null | undefined },
  { checks = [], pull, approvals = 0 }: Known = {},
): Gate | undefined {
  const failed = checks.filter((check) => check.state === 'failed')
  const pending = checks.filter((check) => check.state === 'pending')
  if (failed.length > 0)
    return {
      words: tn(failed.length, 'Not mergeable: {checks} fails.', 'Not mergeable: {checks} fail.', {
        checks: failed.map((check) => check.name).join(', '),
      }),
      isShut: true,
    }
  if (phase === 'conflicted')
    return {
      words: t('Not mergeable: it conflicts with {base}. Rebase it.', { base: base ?? t('its base') }),
      isShut: true,
    }
  if (pull?.draft) return { words: t('Not mergeable: it is a draft, still being worked on.'), isShut: true }
  if (pull?.verdict === 'changes_requested')
    return { words: t('Not mergeable: a reviewer wants changes first.'), isShut: true }
  const lacking = approvals - (pull?.approvals ?? 0)
  if (lacking > 0)
    return {
      words:
        lacking === 1
          ? t('Not mergeable: one more approval is missing.')
          : t('Not mergeable: {lacking} more approvals are missing.', { lacking }),
      isShut: true,
    }
  if (pending.length > 0)
    return {
      words: t('Waiting for {list}.', { list: pending.map((check) => check.name).join(', ') }),
      isShut: false,
    }
  return undefined
}

/** The same with everything that the page knows. */
export function useGate(task: Task): Gate | undefined {
  const checks = useChecks(task)
  const pull = usePull(task)
  const rules = useQuery(repos).data?.find((it) => it.name === task.repo)?.pulls
  return gate(task, { checks, pull, approvals: rules?.approvals ?? 0 })
}

/** The same of a pull that is no task's. */
export function usePullGate(pull: Pull, checks: readonly Check[]): Gate | undefined {
  const rules = useQuery(repos).data?.find((it) => it.name === pull.repo)?.pulls
  if (isPullOver(pull)) return undefined
  return pullGate(pull, { checks, pull, approvals: rules?.approvals ?? 0 })
}
