import type { Phase } from '../api/types'
import { cx } from '../ui/cx'
import { t } from '../words/words'

const LAMPS: Record<Phase, string> = {
  requested: 'fill-brass/50',
  preparing: 'fill-brass',
  ready: 'fill-lamp',
  paused: 'fill-slate',
  closing: 'fill-clay',
  gone: 'fill-line-strong',
  failed: t('fill-oxblood'),
}

const MOVES: Partial<Record<Phase, string>> = {
  requested: 'animate-breathe',
  preparing: 'animate-breathe',
  closing: 'animate-breathe',
}

/** One desk seen from the front: two walls, a top, a lamp. The lamp throws light only when someone can work. */
export function Desk({ phase }: { phase: Phase }) {
  return (
    <svg
      aria-hidden="true"
      viewBox="0 0 28 24"
      className={cx('block h-6 w-7 transition-opacity duration-700', phase === 'gone' && 'opacity-25')}
    >
      {phase === 'ready' && <path d="M9.5 10 5 17.5h18L18.5 10z" className="fill-glow opacity-55" />}
      <path
        d="M4 21.5V6.5M24 21.5V6.5M4 17.5h20"
        className="fill-none stroke-line-strong"
        strokeWidth="1.6"
        strokeLinecap="round"
      />
      <path d="M9 9.5a5 5 0 0 1 10 0z" className={cx(LAMPS[phase], MOVES[phase])} />
      <path d="M14 9.5v8" className="stroke-line-strong" strokeWidth="1.2" />
    </svg>
  )
}

/** The same desk, large, for when the room is empty. */
export function EmptyDesk() {
  return (
    <svg aria-hidden="true" viewBox="0 0 160 120" className="mb-5 h-28 w-40">
      <path d="M62 46 34 88h92L98 46z" className="fill-glow opacity-25" />
      <path
        d="M20 112V28M140 112V28M20 88h120"
        className="fill-none stroke-line-strong"
        strokeWidth="4"
        strokeLinecap="round"
      />
      <path d="M58 45a22 22 0 0 1 44 0z" className="fill-lamp" />
      <path d="M80 45v43M70 88h20" className="stroke-brass" strokeWidth="4" strokeLinecap="round" />
      <path d="M97 79h31v7H97z" className="fill-slate" />
      <path d="M101 72h24v7h-24z" className="fill-clay" />
    </svg>
  )
}
