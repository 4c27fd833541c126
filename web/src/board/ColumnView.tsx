/** One column: its name, how many, and its cards. Only the cards in sight are drawn. */
import { useDroppable } from '@dnd-kit/core'
import { useVirtualizer } from '@tanstack/react-virtual'
import { Hand } from 'lucide-react'
import { memo, useEffect, useRef } from 'react'
import type { SandboxView } from '../api/types'
import type { Task } from '../task/types'
import { VERB_WORDS } from '../task/verbs'
import { cx } from '../ui/cx'
import { Card } from './Card'
import { COLUMN_HINTS, COLUMN_WORDS, type Column, moveTo } from './columns'

interface ColumnViewProps {
  column: Column
  tasks: Task[]
  /** The sandboxes that live, by their names. */
  desks: ReadonlyMap<string, SandboxView>
  held: Task | undefined
  current: number | undefined
  chosen: ReadonlySet<number>
  onCurrent(id: number): void
  onChoose(id: number): void
}

const GAP = 8

export const ColumnView = memo(function ColumnView({
  column,
  tasks,
  desks,
  held,
  current,
  chosen,
  onCurrent,
  onChoose,
}: ColumnViewProps) {
  const { setNodeRef, isOver } = useDroppable({ id: column })
  const scroller = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: tasks.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 116,
    getItemKey: (index) => tasks[index]?.id ?? index,
    overscan: 6,
    gap: GAP,
  })
  const at = current === undefined ? -1 : tasks.findIndex((task) => task.id === current)
  useEffect(() => {
    if (at >= 0) virtual.scrollToIndex(at, { align: 'auto' })
  }, [at, virtual])

  const move = held && moveTo(held, column)
  const canDrop = move && 'verb' in move
  const isClosed = held && !canDrop && !(move && 'stays' in move)
  const heading = `column-${column}`
  return (
    <section
      ref={setNodeRef}
      data-column={column}
      data-over={isOver || undefined}
      aria-labelledby={heading}
      aria-disabled={isClosed ? true : undefined}
      className={cx(
        'relative flex min-h-0 min-w-0 snap-start flex-col rounded-2xl border border-transparent bg-well/45 transition-[background-color,border-color,opacity] duration-150',
        isClosed && 'opacity-55',
        canDrop && 'border-dashed border-line-strong',
        isOver && canDrop && 'border-lamp bg-lamp-wash',
      )}
    >
      <h2
        id={heading}
        className="flex h-10 shrink-0 items-center gap-2 px-3.5 font-sans text-small font-semibold tracking-normal text-soft max-md:sr-only"
      >
        {column === 'needs_you' && tasks.length > 0 && <Hand aria-hidden className="size-4 text-brass" />}
        <span className={cx(column === 'needs_you' && tasks.length > 0 && 'text-brass')}>
          {COLUMN_WORDS[column]}
        </span>
        <span className="font-normal text-faint">{tasks.length}</span>
        {isOver && canDrop && 'verb' in move && (
          <span className="ml-auto rounded-md bg-lamp px-1.5 text-tiny font-medium text-on-lamp">
            {VERB_WORDS[move.verb]}
          </span>
        )}
      </h2>
      <div
        ref={scroller}
        // Scrollable regions must be reachable by keyboard; the cards inside are, so the region itself need not be.
        className="min-h-0 flex-1 overflow-y-auto px-2 pb-2 [scrollbar-width:thin] max-md:pt-2"
      >
        {tasks.length === 0 ? (
          <p className="mx-1 mt-1 rounded-xl border border-dashed border-line px-3 py-5 text-center text-small text-faint">
            {COLUMN_HINTS[column]}
          </p>
        ) : (
          <ul aria-labelledby={heading} className="relative" style={{ height: virtual.getTotalSize() }}>
            {virtual.getVirtualItems().map((item) => {
              const task = tasks[item.index]
              return (
                task && (
                  <li
                    key={item.key}
                    ref={virtual.measureElement}
                    data-index={item.index}
                    className="absolute top-0 left-0 w-full"
                    style={{ transform: `translateY(${item.start}px)` }}
                  >
                    <Card
                      task={task}
                      desk={task.sandbox_id ? desks.get(task.sandbox_id) : undefined}
                      isCurrent={task.id === current}
                      isChosen={chosen.has(task.id)}
                      isHeld={held?.id === task.id}
                      onCurrent={onCurrent}
                      onChoose={onChoose}
                    />
                  </li>
                )
              )
            })}
          </ul>
        )}
      </div>
    </section>
  )
})
