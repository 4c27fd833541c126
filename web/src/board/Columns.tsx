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
import { useRef, useState } from 'react'
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
  const { attempt } = useMoves()
  const sensors = useSensors(
    useSensor(PointerSensor, { activationConstraint: { distance: 6 } }),
    // A finger that moves at once scrolls; one that rests takes the card.
    useSensor(TouchSensor, { activationConstraint: { delay: 220, tolerance: 8 } }),
  )

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
      // Only the very edge scrolls: a card that is picked up in the last column must not run away.
      autoScroll={{ threshold: { x: 0.03, y: 0.12 } }}
      onDragCancel={() => setHeld(undefined)}
      accessibility={{
        screenReaderInstructions: { draggable: t('Press full stop for what can be done with this card.') },
      }}
    >
      <ColumnTabs columns={columns} scroller={scroller} />
      <div
        ref={scroller}
        className="grid min-h-0 flex-1 auto-cols-[minmax(11.5rem,1fr)] grid-flow-col gap-2.5 overflow-x-auto px-4 pb-4 max-md:snap-x max-md:snap-mandatory max-md:auto-cols-[86vw] max-md:scroll-px-4 md:px-6"
      >
        {COLUMNS.map((column) => (
          <ColumnView
            key={column}
            column={column}
            tasks={columns[column]}
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
            <CardFace task={held} />
          </div>
        )}
      </DragOverlay>
    </DndContext>
  )
}

function columnOfHeld(columns: Record<Column, Task[]>, task: Task): Column {
  return COLUMNS.find((column) => columns[column].some((it) => it.id === task.id)) ?? 'backlog'
}

/** On a phone one column fills the screen; these lead from one to the next. */
function ColumnTabs({
  columns,
  scroller,
}: {
  columns: Record<Column, Task[]>
  scroller: React.RefObject<HTMLDivElement | null>
}) {
  return (
    <nav aria-label={t('Columns')} className="flex gap-1 overflow-x-auto px-4 pb-2 md:hidden">
      {COLUMNS.map((column) => (
        <button
          key={column}
          type="button"
          onClick={() =>
            scroller.current
              ?.querySelector(`[data-column="${column}"]`)
              ?.scrollIntoView({ behavior: 'smooth', inline: 'start', block: 'nearest' })
          }
          className={cx(
            'flex h-8 shrink-0 items-center gap-1.5 rounded-full border border-line px-3 text-small whitespace-nowrap',
            column === 'needs_you' && columns[column].length > 0
              ? 'border-brass/50 bg-brass-wash text-brass'
              : 'bg-card text-soft',
          )}
        >
          {COLUMN_WORDS[column]}
          <span className="text-faint">{columns[column].length}</span>
        </button>
      ))}
    </nav>
  )
}
