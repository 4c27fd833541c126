/** How the pull of a card stands, as a ring: part of the way while it is checked, whole when it can be merged, red when it cannot. */
import { t } from '../words/words'

const STATES: Record<string, { words: string; part: number; stroke: string; isMoving?: true }> = {
  open: { words: t('Open'), part: 0.1, stroke: 'stroke-slate' },
  checking: { words: t('Being checked'), part: 0.55, stroke: 'stroke-brass', isMoving: true },
  mergeable: { words: t('Ready to merge'), part: 1, stroke: 'stroke-lamp' },
  conflicted: { words: t('Conflicted'), part: 1, stroke: 'stroke-oxblood' },
}

export function ChecksRing({ phase }: { phase: string }) {
  const state = STATES[phase]
  if (!state) return null
  return (
    <svg
      role="img"
      aria-label={state.words}
      viewBox="0 0 16 16"
      className={`size-3.5 -rotate-90 ${state.isMoving ? 'animate-breathe' : ''}`}
    >
      <title>{state.words}</title>
      <circle cx="8" cy="8" r="6" fill="none" strokeWidth="2.6" className="stroke-line" />
      <circle
        cx="8"
        cy="8"
        r="6"
        fill="none"
        strokeWidth="2.6"
        pathLength="1"
        strokeDasharray={`${state.part} 1`}
        className={state.stroke}
      />
    </svg>
  )
}
