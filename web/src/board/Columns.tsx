/** The columns side by side, and the card in the hand between them. */
import {
  DndContext,
  type DragEndEvent,
  DragOverlay,
  PointerSensor,
  TouchSensor,
  useSensor,
  useSensors,
} from '@dnd-kit/core'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { sandboxes } from '../api/queries'
import type { Task } from '../task/types'
import { Button } from '../ui/Button'
import { cx } from '../ui/cx'
import { Empty } from '../ui/Small'
import { toast } from '../ui/Toast'
import { t } from '../words/words'
import { CardFace } from './Card'
import { ColumnView } from './ColumnView'
import { COLUMN_WORDS, COLUMNS, type Column, moveTo } from './columns'
import { useMoves } from './moves'

// The same objects each time: with new ones every card would be drawn again whenever one of them changes.
const POINTER = { activationConstraint: { distance: 6 } }
/** A finger that moves at once scrolls; one that rests takes the card. */
const TOUCH = { activationConstraint: { delay: 220, tolerance: 8 } }
/** Only the very edge scrolls: a card that is picked up in the last column must not run away. */
const AUTO_SCROLL = { threshold: { x: 0.03, y: 0.12 } }
const ACCESSIBILITY = {
  screenReaderInstructions: { draggable: t('Press full stop for what can be done with this card.') },
}

interface ColumnsProps {
  columns: Record<Column, Task[]>
  current: number | undefined
  chosen: ReadonlySet<number>
  isFiltered: boolean
  onCurrent(id: number): void
  onChoose(id: number): void
  onClear(): void
}

export function Columns({
  columns,
  current,
  chosen,
  isFiltered,
  onCurrent,
  onChoose,
  onClear,
}: ColumnsProps) {
  const [held, setHeld] = useState<Task>()
  const scroller = useRef<HTMLDivElement>(null)
  const [here, setHere] = useState<Column>(COLUMNS[0])
  const { attempt } = useMoves()
  const room = useQuery(sandboxes).data?.items
  const desks = useMemo(
    () => new Map(room?.filter((it) => it.phase !== 'gone').map((it) => [it.id, it])),
    [room],
  )
  // Who opens the board in one hand has a moment: what waits for them comes first.
  const waits = useRef(columns.needs_you.length > 0)
  useLayoutEffect(() => {
    const box = scroller.current
    if (box && waits.current && window.matchMedia(NARROW).matches) {
      box.scrollLeft = leftOf(box, 'needs_you')
      setHere('needs_you')
    }
  }, [])
  const sensors = useSensors(useSensor(PointerSensor, POINTER), useSensor(TouchSensor, TOUCH))

  const drop = (event: DragEndEvent) => {
    const task = held
    setHeld(undefined)
    const to = event.over?.id as Column | undefined
    if (!task || !to) return
    const move = moveTo(task, to)
    if ('refused' in move)
      toast(
        t('task-{id} stays in {column}', { id: task.id, column: COLUMN_WORDS[columnOfHeld(columns, task)] }),
        move.refused,
      )
    if ('verb' in move) void attempt(task, move.verb)
  }

  const total = COLUMNS.reduce((sum, column) => sum + columns[column].length, 0)
  if (total === 0 && isFiltered) {
    return (
      <Empty title={t('Nothing matches')}>
        <p>{t('No card passes this filter.')}</p>
        <div>
          <Button onClick={onClear}>{t('Clear the filter')}</Button>
        </div>
      </Empty>
    )
  }

  return (
    <DndContext
      sensors={sensors}
      onDragStart={(event) => setHeld(event.active.data.current as Task)}
      onDragEnd={drop}
      autoScroll={AUTO_SCROLL}
      onDragCancel={() => setHeld(undefined)}
      accessibility={ACCESSIBILITY}
    >
      <ColumnTabs columns={columns} here={here} scroller={scroller} />
      <div
        ref={scroller}
        onScroll={(event) => setHere(nearest(event.currentTarget))}
        className="grid min-h-0 flex-1 auto-cols-[minmax(11.5rem,1fr)] grid-flow-col gap-2.5 overflow-x-auto px-4 pb-4 max-md:snap-x max-md:snap-mandatory max-md:auto-cols-[86vw] max-md:scroll-px-4 md:px-6"
      >
        {COLUMNS.map((column) => (
          <ColumnView
            key={column}
            column={column}
            tasks={columns[column]}
            desks={desks}
            held={held}
            current={current}
            chosen={chosen}
            onCurrent={onCurrent}
            onChoose={onChoose}
          />
        ))}
      </div>
      <DragOverlay dropAnimation={{ duration: 160, easing: 'cubic-bezier(0.2, 0.7, 0.2, 1)' }}>
        {held && (
          <div className="rotate-[1.2deg] cursor-grabbing rounded-xl border border-line-strong bg-card shadow-float">
            <CardFace task={held} desk={held.sandbox_id ? desks.get(held.sandbox_id) : undefined} />
          </div>
        )}
      </DragOverlay>
    </DndContext>
  )
}

function columnOfHeld(columns: Record<Column, Task[]>, task: Task): Column {
  return COLUMNS.find((column) => columns[column].some((it) => it.id === task.id)) ?? 'backlog'
}

/** Where one column fills the screen. */
const NARROW = '(max-width: 767px)'

const columnIn = (box: HTMLElement, column: Column) =>
  box.querySelector<HTMLElement>(`[data-column="${column}"]`)

/** How far a column is scrolled to. */
function leftOf(box: HTMLElement, column: Column): number {
  const [first, wanted] = [columnIn(box, COLUMNS[0]), columnIn(box, column)]
  return first && wanted ? wanted.offsetLeft - first.offsetLeft : 0
}

function nearest(box: HTMLElement): Column {
  const away = (column: Column) => Math.abs(leftOf(box, column) - box.scrollLeft)
  return COLUMNS.reduce((best, column) => (away(column) < away(best) ? column : best))
}

/** On a phone one column fills the screen; these lead from one to the next. */
function ColumnTabs({
  columns,
  here,
  scroller,
}: {
  columns: Record<Column, Task[]>
  here: Column
  scroller: React.RefObject<HTMLDivElement | null>
}) {
  const bar = useRef<HTMLElement>(null)
  useEffect(() => {
    const tab = bar.current?.querySelector<HTMLElement>('[aria-current]')
    if (bar.current && tab)
      bar.current.scrollLeft = tab.offsetLeft - bar.current.clientWidth / 2 + tab.clientWidth / 2
  })
  return (
    <nav
      ref={bar}
      aria-label={t('Columns')}
      className="relative flex gap-1 overflow-x-auto px-4 pb-2 [scrollbar-width:none] md:hidden"
    >
      {COLUMNS.map((column) => (
        <button
          key={column}
          type="button"
          aria-current={here === column || undefined}
          onClick={() =>
            scroller.current?.scrollTo({ left: leftOf(scroller.current, column), behavior: 'smooth' })
          }
          className={cx(
            'flex h-8 shrink-0 items-center gap-1.5 rounded-full border px-3 text-small whitespace-nowrap',
            column === 'needs_you' && columns[column].length > 0
              ? 'bg-brass-wash text-brass'
              : 'bg-card text-soft',
            here === column
              ? 'border-current font-semibold'
              : column === 'needs_you' && columns[column].length > 0
                ? 'border-brass/50'
                : 'border-line',
          )}
        >
          {COLUMN_WORDS[column]}
          <span className="text-faint">{columns[column].length}</span>
        </button>
      ))}
    </nav>
  )
}
