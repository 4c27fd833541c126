/**
 * The reading room from above: one small desk for each sandbox, its lamp lit while it works.
 *
 * Pure pleasure for those who look: the list below says all of it in words, so this is hidden from those who listen.
 */
import { Link } from '@tanstack/react-router'
import { memo } from 'react'
import type { Phase as PhaseName, SandboxView } from '../api/types'
import { t } from '../words/words'
import { Desk } from './Desk'
import { LOOKS } from './phases'

const MOST = 120

export function ReadingRoom({ sandboxes }: { sandboxes: readonly SandboxView[] }) {
  const shown = sandboxes.slice(0, MOST)
  return (
    <div
      aria-hidden
      className="mb-5 flex flex-wrap items-center gap-1.5 rounded-2xl border border-line bg-paper px-4 py-3 shadow-card"
    >
      {shown.map((sandbox) => (
        <Seat key={sandbox.id} id={sandbox.id} phase={sandbox.phase} task={sandbox.task_id} />
      ))}
      {sandboxes.length > MOST && (
        <span className="pl-1 text-small text-faint">
          {t('and {n} more', { n: sandboxes.length - MOST })}
        </span>
      )}
    </div>
  )
}

interface SeatProps {
  id: string
  phase: PhaseName
  task: number | null | undefined
}

const Seat = memo(function Seat({ id, phase, task }: SeatProps) {
  return (
    <Link
      to="/sandboxes/$id"
      params={{ id }}
      tabIndex={-1}
      title={`${id} · ${LOOKS[phase].word.toLowerCase()}${task == null ? '' : ` · task-${task}`}`}
      className="rounded-md transition-transform duration-150 hover:scale-125"
    >
      <Desk phase={phase} />
    </Link>
  )
})
