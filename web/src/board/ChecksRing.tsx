/** How the pull of a card stands, as a ring: part of the way while it is checked, whole when it can be merged, red when it cannot. */
import type { Task } from '../task/types'
import { t } from '../words/words'
import { type RingState, ringOf } from './ring'

const LOOKS: Record<RingState, { words: string; part: number; stroke: string; isMoving?: true }> = {
  open: { words: t('Open'), part: 0.1, stroke: 'stroke-slate' },
  checking: { words: t('Being checked'), part: 0.55, stroke: 'stroke-brass', isMoving: true },
  mergeable: { words: t('Ready to merge'), part: 1, stroke: 'stroke-lamp' },
  conflicted: { words: t('Conflicted'), part: 1, stroke: 'stroke-oxblood' },
  failed: { words: t('A check failed'), part: 1, stroke: 'stroke-oxblood' },
}

export function ChecksRing({ task }: { task: Task }) {
  const state = ringOf(task)
  if (!state) return null
  const look = LOOKS[state]
  return (
    <svg
      role="img"
      data-ring={state}
      aria-label={look.words}
      viewBox="0 0 16 16"
      className={`size-3.5 -rotate-90 ${look.isMoving ? 'animate-breathe' : ''}`}
    >
      <title>{look.words}</title>
      <circle cx="8" cy="8" r="6" fill="none" strokeWidth="2.6" className="stroke-line" />
      <circle
        cx="8"
        cy="8"
        r="6"
        fill="none"
        strokeWidth="2.6"
        pathLength="1"
        strokeDasharray={`${look.part} 1`}
        className={look.stroke}
      />
    </svg>
  )
}
