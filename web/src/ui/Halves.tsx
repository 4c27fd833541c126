/** A conversation on one side and what came of it on the other. On a phone there is room for one of them at a time. */
import type { ReactNode } from 'react'
import { t } from '../words/words'
import { cx } from './cx'

interface HalvesProps {
  /** Which of the two a phone shows. */
  isTalking: boolean
  onTalking(isTalking: boolean): void
  talk: ReactNode
  /** What the other half is called. */
  word: string
  children: ReactNode
}

export function Halves({ isTalking, onTalking, talk, word, children }: HalvesProps) {
  return (
    <>
      <div className="flex gap-1 px-3 pb-2 md:hidden">
        {[true, false].map((talks) => (
          <button
            key={String(talks)}
            type="button"
            aria-pressed={isTalking === talks}
            onClick={() => onTalking(talks)}
            className={cx(
              'h-8 flex-1 rounded-lg text-small',
              isTalking === talks ? 'bg-raised font-medium shadow-card' : 'bg-well text-soft',
            )}
          >
            {talks ? t('Conversation') : word}
          </button>
        ))}
      </div>
      <div className="grid min-h-0 flex-1 border-t border-line md:grid-cols-[minmax(20rem,5fr)_minmax(0,7fr)]">
        <section
          aria-label={t('Conversation')}
          className={cx(
            'flex min-h-0 min-w-0 flex-col border-line md:border-r',
            !isTalking && 'max-md:hidden',
          )}
        >
          {talk}
        </section>
        <div className={cx('flex min-h-0 min-w-0 flex-col', isTalking && 'max-md:hidden')}>{children}</div>
      </div>
    </>
  )
}
