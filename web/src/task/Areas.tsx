/** Files and directories that a task has claimed, so that others keep away: shown for as long as each claim holds. */
import { useReading } from '../ui/clock'
import { Until } from '../ui/Moments'
import { t } from '../words/words'
import type { Task } from './types'

/** The claims that hold at a moment. */
export function claimsAt(task: Task, now: number) {
  return (task.claims ?? []).filter((claim) => Date.parse(claim.until) > now)
}

export function Areas({ task }: { task: Task }) {
  const held = useReading((now) =>
    claimsAt(task, now)
      .map((claim) => claim.token)
      .join(' '),
  ).split(' ')
  const claims = (task.claims ?? []).filter((claim) => held.includes(String(claim.token)))
  if (claims.length === 0) return null
  return (
    <div className="grid grid-cols-[7rem_minmax(0,1fr)] gap-3 py-2.5">
      <dt className="text-faint">{t('Claimed')}</dt>
      <dd className="wrap-anywhere">
        <ul>
          {claims.map((claim) => (
            <li key={claim.token}>
              <span className="font-mono text-small">{claim.paths.join(', ')}</span>{' '}
              <span className="text-faint">
                <Until at={claim.until} />
              </span>
            </li>
          ))}
        </ul>
      </dd>
    </div>
  )
}
