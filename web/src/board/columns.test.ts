import { describe, expect, it } from 'vitest'
import { aTask } from '../task/sample'
import type { TaskPhase } from '../task/types'
import { COLUMNS, columnOf, deal, moveTo } from './columns'

const PHASES: TaskPhase[] = [
  'backlog',
  'queued',
  'preparing',
  'working',
  'publishing',
  'in_review',
  'needs_you',
  'merged',
  'closed',
  'failed',
]

describe('the columns', () => {
  it('have a place for every phase', () => {
    expect(PHASES.map((phase) => columnOf(aTask({ phase })))).toEqual([
      'backlog',
      'queued',
      'working',
      'working',
      'working',
      'in_review',
      'needs_you',
      'done',
      'done',
      'needs_you',
    ])
  })

  it('deal every card once', () => {
    const dealt = deal(PHASES.map((phase, at) => aTask({ id: at + 1, phase })))
    expect(COLUMNS.flatMap((column) => dealt[column].map((task) => task.id)).sort((a, b) => a - b)).toEqual(
      PHASES.map((_, at) => at + 1),
    )
  })

  it('are the same lists again where nothing changed', () => {
    const [rests, works] = [aTask({ id: 1, phase: 'backlog' }), aTask({ id: 2, phase: 'working' })]
    const before = deal([rests, works])
    const after = deal([rests, { ...works, doing: 'a word' }], before)
    expect(after.backlog).toBe(before.backlog)
    expect(after.working).not.toBe(before.working)
    expect(after.working[0]?.doing).toBe('a word')
  })

  it('do not move a card that works because its agent said another word', () => {
    const quiet = aTask({ id: 1, phase: 'working', started_at: '2026-01-01T00:02:00Z' })
    const loud = aTask({ id: 2, phase: 'working', started_at: '2026-01-01T00:01:00Z' })
    const before = deal([quiet, loud]).working.map((it) => it.id)
    const after = deal([quiet, { ...loud, updated_at: '2026-01-01T09:00:00Z', doing: 'a word' }]).working.map(
      (it) => it.id,
    )
    expect(after).toEqual(before)
  })

  it('show what is wanted first in the backlog, and who waits longest first where somebody waits', () => {
    const { backlog, needs_you } = deal([
      aTask({ id: 1 }),
      aTask({ id: 2, priority: 5 }),
      aTask({ id: 4, phase: 'failed' }),
      aTask({ id: 3, phase: 'needs_you' }),
    ])
    expect(backlog.map((it) => it.id)).toEqual([2, 1])
    expect(needs_you.map((it) => it.id)).toEqual([3, 4])
  })
})

describe('a drop', () => {
  it.each([
    ['backlog', 'queued', 'start'],
    ['backlog', 'working', 'start'],
    ['backlog', 'done', 'close'],
    ['queued', 'backlog', 'stop'],
    ['working', 'backlog', 'stop'],
    ['working', 'done', 'close'],
    ['needs_you', 'working', 'retry'],
    ['failed', 'queued', 'retry'],
    ['in_review', 'done', 'merge'],
  ] as const)('from %s on %s asks to %s', (phase, to, verb) => {
    expect(moveTo(aTask({ phase }), to)).toEqual({ verb })
  })

  it.each([
    ['merged', 'working'],
    ['closed', 'backlog'],
    ['backlog', 'in_review'],
    ['working', 'needs_you'],
    ['queued', 'working'],
    ['in_review', 'backlog'],
  ] as const)('from %s on %s is refused, with a reason', (phase, to) => {
    const move = moveTo(aTask({ phase }), to)
    expect('refused' in move && move.refused.length).toBeGreaterThan(10)
  })

  it('where it already is changes nothing', () => {
    expect(moveTo(aTask({ phase: 'publishing' }), 'working')).toEqual({ stays: true })
  })
})
