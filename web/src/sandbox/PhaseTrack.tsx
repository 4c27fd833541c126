import type { Phase, SandboxView } from '../api/types'
import { cx } from '../ui/cx'
import { Age } from '../ui/Moments'
import { t } from '../words/words'
import type { Line } from './journal'
import { LOOKS } from './phases'

interface Stop {
  phase: Phase
  /** When it was first reached, as far as the journal tells. */
  at: string | undefined
  state: 'passed' | 'here' | 'ahead' | 'skipped'
}

/** A life from left to right: where it has been, where it is, where it will go. */
export function PhaseTrack({ sandbox, lines }: { sandbox: SandboxView; lines: readonly Line[] }) {
  const stops = track(sandbox, lines)
  return (
    <ol aria-label={t('Life of this sandbox')} className="flex min-w-0">
      {stops.map((stop, index) => {
        const look = LOOKS[stop.phase]
        const isReached = stop.state === 'passed' || stop.state === 'here'
        return (
          <li
            key={stop.phase}
            aria-current={stop.state === 'here' ? 'step' : undefined}
            className="relative min-w-0 flex-1"
          >
            {index > 0 && (
              <span
                aria-hidden
                className={cx(
                  'absolute top-2 right-[calc(50%+0.75rem)] left-[calc(-50%+0.75rem)] h-px',
                  isReached ? 'bg-line-strong' : 'bg-line',
                )}
              />
            )}
            <span className="flex flex-col items-center gap-1 text-center">
              <span className="grid size-4 place-items-center">
                {stop.state === 'here' && (
                  <span
                    aria-hidden
                    className={cx(
                      'absolute size-4 rounded-full opacity-25',
                      look.dot,
                      look.isMoving && 'animate-ping',
                    )}
                  />
                )}
                <span
                  className={cx(
                    'size-2 rounded-full',
                    stop.state === 'here' && `size-2.5 ${look.dot}`,
                    stop.state === 'passed' && 'bg-line-strong',
                    !isReached && 'border border-line-strong',
                  )}
                />
              </span>
              <span
                className={cx(
                  'max-w-full truncate text-small',
                  stop.state === 'here'
                    ? `font-semibold ${look.text}`
                    : isReached
                      ? 'text-soft'
                      : 'text-faint',
                )}
              >
                {look.word}
              </span>
              <span className="h-4 text-tiny text-faint">{stop.at && isReached && <Age at={stop.at} />}</span>
            </span>
          </li>
        )
      })}
    </ol>
  )
}

export function track(sandbox: SandboxView, lines: readonly Line[]): Stop[] {
  const first = new Map<Phase, string>()
  for (const line of lines) if (!first.has(line.sandbox.phase)) first.set(line.sandbox.phase, line.at)
  if (sandbox.ready_at && !first.has('ready')) first.set('ready', sandbox.ready_at)
  first.set('requested', sandbox.created_at)
  if (sandbox.phase === 'gone') first.set('gone', sandbox.ended?.at ?? sandbox.updated_at)
  if (!first.has(sandbox.phase)) first.set(sandbox.phase, sandbox.updated_at)

  const path: Phase[] = ['requested', 'preparing', 'ready']
  if (first.has('paused')) path.push('paused')
  if (first.has('failed')) path.push('failed')
  path.push('closing', 'gone')

  const here = path.indexOf(sandbox.phase)
  return path.map((phase, index) => {
    // Preparing may pass too quickly to be written down; a sandbox that was ready has been prepared.
    const wasThere =
      first.has(phase) ||
      (phase === 'preparing' && first.has('ready')) ||
      (phase === 'closing' && sandbox.phase === 'gone')
    const isPast = index < here || (phase === 'paused' && first.has('paused'))
    const state = index === here ? 'here' : isPast ? (wasThere ? 'passed' : 'skipped') : 'ahead'
    return { phase, at: first.get(phase), state }
  })
}
