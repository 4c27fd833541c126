import { describe, expect, it } from 'vitest'
import { openConflicts } from './conflicts'
import { aTask } from './sample'

const conflict = (task_id: number | null) => ({ task_id, paths: ['src/a.rs'] })

describe('a conflict', () => {
  const task = aTask({ id: 1, phase: 'in_review', conflicts: [conflict(2), conflict(3), conflict(null)] })

  it('is with the base and with cards that are open, known or not', () => {
    const others = [aTask({ id: 2, phase: 'working' })]
    expect(openConflicts(task, others).map((it) => it.task_id)).toEqual([2, 3, null])
  })

  it('is not with a card that is over, and a card that is over has none', () => {
    const others = [aTask({ id: 2, phase: 'merged' }), aTask({ id: 3, phase: 'closed' })]
    expect(openConflicts(task, others).map((it) => it.task_id)).toEqual([null])
    expect(openConflicts({ ...task, phase: 'merged' }, [])).toEqual([])
  })
})
