import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Gather } from './gather'
import type { Entry } from './types'

const moment = (seq: number) => ({ kind: 'moment', moment: { seq } }) as unknown as Entry
const card = (id: number) => ({ kind: 'task', task: { id } }) as unknown as Entry

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function gathering() {
  const drawings: Entry[][] = []
  return { drawings, gather: new Gather((entries) => drawings.push(entries)) }
}

describe('what is told', () => {
  it('together is drawn together, in order', () => {
    const { drawings, gather } = gathering()
    for (const id of [1, 2, 3]) gather.take(card(id))
    vi.advanceTimersByTime(25)
    expect(drawings).toEqual([[card(1), card(2), card(3)]])
  })

  it('by an agent does not wait for cards that were just drawn', () => {
    const { drawings, gather } = gathering()
    gather.take(card(1))
    vi.advanceTimersByTime(30)
    gather.take(card(2))
    gather.take(moment(1))
    vi.advanceTimersByTime(10)
    expect(drawings).toEqual([[card(1)], [moment(1)]])
    vi.advanceTimersByTime(120)
    expect(drawings.at(-1)).toEqual([card(2)])
  })

  it('in a storm is drawn a few times a second, and none of it is lost', () => {
    const { drawings, gather } = gathering()
    for (let at = 0; at < 1_000; at += 1) {
      gather.take(moment(at))
      gather.take(card(at))
      vi.advanceTimersByTime(1)
    }
    vi.advanceTimersByTime(150)
    const of = (kind: Entry['kind']) => drawings.filter(([first]) => first?.kind === kind)
    expect(of('moment').length).toBeLessThan(34)
    expect(of('task').length).toBeLessThan(14)
    expect(of('moment').flat()).toHaveLength(1_000)
    expect(of('task').flat()).toHaveLength(1_000)
  })

  it('after the end is not drawn', () => {
    const { drawings, gather } = gathering()
    gather.take(card(1))
    gather.stop()
    vi.advanceTimersByTime(1_000)
    expect(drawings).toEqual([])
  })
})
