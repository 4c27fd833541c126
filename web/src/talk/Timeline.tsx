/** A conversation, live: what was said, what was done, and where it can be gone back to. */
import { ArrowDown } from 'lucide-react'
import { useEffect, useLayoutEffect, useRef, useState } from 'react'
import type { Moment } from '../task/types'
import { Button } from '../ui/Button'
import { t } from '../words/words'
import { MomentRow } from './MomentRow'
import { type Row, rows } from './rows'

interface TimelineProps {
  moments: readonly Moment[]
  agent: string | null | undefined
  /** Someone is at it right now. */
  isBusy: boolean
  doing?: string | null | undefined
  /** What can be done at a checkpoint, where anything can. */
  onSince?: ((seq: number) => void) | undefined
  onOpen?: ((seq: number) => void) | undefined
  onFork?: ((seq: number) => void) | undefined
}

/** As many rows as are drawn at first; more come when asked for. */
const SHOWN = 300

export function Timeline({ moments, agent, isBusy, doing, onSince, onOpen, onFork }: TimelineProps) {
  const scroller = useRef<HTMLDivElement>(null)
  const [isAtEnd, setAtEnd] = useState(true)
  const [most, setMost] = useState(SHOWN)
  const all = rows(moments)
  const shown = all.slice(-most)
  const length = moments.length
  const last = moments.at(-1)?.seq

  // Whoever reads the end keeps reading the end; whoever scrolled up is left in peace.
  // biome-ignore lint/correctness/useExhaustiveDependencies: these are what makes the page longer
  useLayoutEffect(() => {
    const box = scroller.current
    if (isAtEnd && box) box.scrollTop = box.scrollHeight
  }, [length, last, isBusy, doing, isAtEnd])

  useEffect(() => {
    const box = scroller.current
    if (!box) return
    const watch = new ResizeObserver(() => {
      if (box.scrollHeight - box.scrollTop - box.clientHeight < 80) box.scrollTop = box.scrollHeight
    })
    watch.observe(box)
    return () => watch.disconnect()
  }, [])

  return (
    <div className="relative flex min-h-0 flex-1 flex-col">
      <div
        ref={scroller}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        role="log"
        aria-label={t('Timeline')}
        onScroll={(event) => {
          const box = event.currentTarget
          setAtEnd(box.scrollHeight - box.scrollTop - box.clientHeight < 60)
        }}
        className="min-h-0 flex-1 overflow-y-auto px-4 py-4 -outline-offset-2 [scrollbar-width:thin]"
      >
        {all.length > most && (
          <p className="mb-3 text-center">
            <Button onClick={() => setMost(most + SHOWN * 3)}>{t('Earlier')}</Button>
          </p>
        )}
        <ol className="space-y-3">
          {shown.map((row: Row) => (
            <MomentRow
              key={row.key}
              row={row}
              agent={agent}
              onSince={onSince}
              onOpen={onOpen}
              onFork={onFork}
            />
          ))}
        </ol>
        {isBusy && (
          <p role="status" className="mt-3 flex items-center gap-2 text-small text-soft">
            <span aria-hidden className="size-1.5 animate-breathe rounded-full bg-lamp" />
            <span className="truncate">{doing ?? t('At work…')}</span>
          </p>
        )}
      </div>
      {!isAtEnd && (
        <Button
          className="absolute bottom-3 left-1/2 h-8 -translate-x-1/2 shadow-float"
          icon={<ArrowDown />}
          onClick={() => setAtEnd(true)}
        >
          {t('To the end')}
        </Button>
      )}
    </div>
  )
}
