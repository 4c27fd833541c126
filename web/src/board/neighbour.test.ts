import { describe, expect, it } from 'vitest'
import { aTask } from '../task/sample'
import type { TaskPhase } from '../task/types'
import { deal, neighbour } from './columns'

const task = (id: number, phase: TaskPhase) => aTask({ id, phase })
/** Two in the backlog, none queued, three at work, one done. */
const cards = [
  task(1, 'backlog'),
  task(2, 'backlog'),
  task(3, 'working'),
  task(4, 'working'),
  task(5, 'working'),
  task(6, 'merged'),
]
const columns = deal(cards)
const from = (id: number | undefined, across: number, down: number) =>
  neighbour(
    columns,
    cards.find((it) => it.id === id),
    across,
    down,
  )?.id

describe('the card one step away', () => {
  it('is the first one there is when nobody stands anywhere', () => {
    expect(from(undefined, 0, 1)).toBe(columns.backlog[0]?.id)
    expect(neighbour(deal([]), undefined, 0, 1)).toBeUndefined()
  })

  it('is above or below in its column, and nowhere past its ends', () => {
    const [first, second] = columns.backlog.map((it) => it.id)
    expect(from(first, 0, 1)).toBe(second)
    expect(from(second, 0, -1)).toBe(first)
    expect(from(second, 0, 1)).toBeUndefined()
    expect(from(first, 0, -1)).toBeUndefined()
  })

  it('is beside it, over columns that are empty, at most as low as that column goes', () => {
    const working = columns.working.map((it) => it.id)
    const [, second] = columns.backlog.map((it) => it.id)
    expect(from(second, 1, 0)).toBe(working[1])
    expect(from(working[2], -1, 0)).toBe(second)
    expect(from(working[2], 1, 0)).toBe(6)
    expect(from(6, 1, 0)).toBeUndefined()
  })
})
