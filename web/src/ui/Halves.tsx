/** A conversation on one side and what came of it on the other. On a phone there is room for one of them at a time. */
import type { ReactNode } from 'react'
import { t } from '../words/words'
import { cx } from './cx'
import { Skeleton } from './Small'

interface HalvesProps {
  /** Which of the two a phone shows. */
  isTalking: boolean
  onTalking(isTalking: boolean): void
  talk: ReactNode
  /** What the other half is called. */
  word: string
  children: ReactNode
}

const SIDES = 'grid min-h-0 border-t border-line md:grid-cols-[minmax(20rem,5fr)_minmax(0,7fr)]'

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
      <div className={cx(SIDES, 'flex-1')}>
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

/** The shape of such a page while it is on its way. */
export function HalvesComing() {
  return (
    <div role="status" aria-label={t('Loading')} className="flex min-h-0 flex-1 flex-col overflow-hidden">
      <title>Carrel</title>
      <div className="space-y-3 px-4 py-4 md:px-5">
        <Skeleton className="h-3.5 w-52" />
        <Skeleton className="h-6 w-96 max-w-full" />
      </div>
      <div className={cx(SIDES, 'flex-1')}>
        <div className="space-y-4 border-line p-4 md:border-r">
          <Skeleton className="ml-auto h-14 w-2/3 rounded-2xl" />
          <Skeleton className="h-4 w-1/2" />
          <Skeleton className="h-28 w-11/12 rounded-2xl" />
          <Skeleton className="h-4 w-2/5" />
          <Skeleton className="h-12 rounded-xl" />
        </div>
        <div className="space-y-4 p-4 max-md:hidden">
          <Skeleton className="h-5 w-80 max-w-full" />
          <Skeleton className="h-52 rounded-xl" />
          <Skeleton className="h-32 rounded-xl" />
        </div>
      </div>
    </div>
  )
}
