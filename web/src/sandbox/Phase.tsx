import type { Phase as PhaseName } from '../api/types'
import { cx } from '../ui/cx'
import { LOOKS } from './phases'

/** A phase as a dot and a word. The dot breathes while something is under way. */
export function Phase({ phase, isBoxed = false }: { phase: PhaseName; isBoxed?: boolean }) {
  const look = LOOKS[phase]
  return (
    <span
      data-phase={phase}
      className={cx(
        'inline-flex items-center gap-2 font-medium',
        look.text,
        isBoxed && `rounded-full py-0.5 pr-3 pl-2.5 ${look.wash}`,
      )}
    >
      <span className="relative grid size-2 place-items-center">
        {look.isMoving && (
          <span
            aria-hidden
            className={cx('absolute size-4 animate-ping rounded-full opacity-30', look.dot)}
          />
        )}
        <span
          aria-hidden
          className={cx('size-2 rounded-full', look.dot, look.isMoving && 'animate-breathe')}
        />
      </span>
      {look.word}
    </span>
  )
}
