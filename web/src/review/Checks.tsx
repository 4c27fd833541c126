/** What stands between this branch and its base, above the diff: checks, conflicts, the state of the pull. */
import { Link } from '@tanstack/react-router'
import { Check as CheckIcon, CircleDashed, GitCompareArrows, Minus, X } from 'lucide-react'
import type { ReactNode } from 'react'
import { useChecks } from '../pull/queries'
import type { Check } from '../pull/types'
import { useOpenConflicts } from '../task/conflicts'
import type { Task } from '../task/types'
import { rich, t } from '../words/words'
import { type Gate, useGate } from './gate'

export function Checks({ task }: { task: Task }) {
  const checks = useChecks(task)
  const blocked = useGate(task)
  const conflicts = useOpenConflicts(task)
  return (
    <ChecksShown checks={checks} blocked={blocked}>
      {conflicts.map((conflict) => (
        <p key={conflict.task_id ?? 'base'} className="flex items-baseline gap-1.5 text-oxblood">
          <GitCompareArrows aria-hidden className="size-3.5 shrink-0 translate-y-0.5" />
          <span className="min-w-0 wrap-anywhere">
            {rich('Conflicts with {what} in {list}', {
              what:
                conflict.task_id == null ? (
                  <span className="font-medium">{task.base ?? t('its base')}</span>
                ) : (
                  <Link
                    to="/tasks/$id"
                    params={{ id: String(conflict.task_id) }}
                    className="font-medium underline underline-offset-4"
                  >
                    {`task-${conflict.task_id}`}
                  </Link>
                ),
              list: conflict.paths.slice(0, 4).join(', '),
            })}
            {conflict.paths.length > 4 && t(' and {n} more', { n: conflict.paths.length - 4 })}
          </span>
        </p>
      ))}
    </ChecksShown>
  )
}

/** The checks themselves, under what keeps it from being merged; and what else stands in the way. */
export function ChecksShown({
  checks,
  blocked,
  children,
}: {
  checks: readonly Check[]
  blocked: Gate | undefined
  children?: readonly ReactNode[]
}) {
  if (checks.length === 0 && !children?.length && !blocked) return null
  return (
    <div className="shrink-0 space-y-1.5 border-b border-line bg-paper px-4 py-2 text-small">
      {blocked && <p className="text-brass">{blocked.words}</p>}
      {checks.length > 0 && (
        <ul aria-label={t('Checks')} className="flex flex-wrap gap-x-4 gap-y-1">
          {checks.map((check) => (
            <li key={check.name} className="flex items-center gap-1.5">
              {check.state === 'passed' ? (
                <CheckIcon aria-label={t('Passed')} className="size-3.5 text-lamp" />
              ) : check.state === 'failed' ? (
                <X aria-label={t('Failed')} className="size-3.5 text-oxblood" />
              ) : check.state === 'skipped' ? (
                <Minus aria-label={t('Skipped')} className="size-3.5 text-faint" />
              ) : (
                <CircleDashed aria-label={t('Running')} className="size-3.5 animate-breathe text-brass" />
              )}
              {check.url ? (
                <a
                  href={check.url}
                  target="_blank"
                  rel="noreferrer"
                  className="underline-offset-4 hover:underline"
                >
                  {check.name}
                </a>
              ) : (
                check.name
              )}
            </li>
          ))}
        </ul>
      )}
      {children}
    </div>
  )
}
