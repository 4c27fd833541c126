import { QueryClient } from '@tanstack/react-query'
import { describe, expect, it } from 'vitest'
import { insert, newer, placeTask, putMoment, putTask } from './fold'
import { mergeMoments } from './queries'
import { aMoment, aTask } from './sample'
import type { Moment, Task } from './types'

const say = (seq: number, text = `word ${seq}`): Moment => aMoment({ seq, text })

describe('a task that is told', () => {
  it('takes its place on the board and on its own page', () => {
    const cache = new QueryClient()
    cache.setQueryData(['tasks'], [aTask({ id: 1 })])
    putTask(cache, aTask({ id: 1, phase: 'working', revision: 2 }))
    putTask(cache, aTask({ id: 2 }))
    expect(cache.getQueryData<Task[]>(['tasks'])?.map((it) => [it.id, it.phase])).toEqual([
      [2, 'backlog'],
      [1, 'working'],
    ])
    expect(cache.getQueryData<Task>(['task', 1])?.phase).toBe('working')
  })

  it('is ignored when it is old news, or told twice', () => {
    const cache = new QueryClient()
    cache.setQueryData(['tasks'], [aTask({ phase: 'in_review', revision: 5 })])
    putTask(cache, aTask({ phase: 'working', revision: 4 }))
    expect(cache.getQueryData<Task[]>(['tasks'])?.[0]?.phase).toBe('in_review')
  })

  it('is remembered before the list is there, so that the list can be corrected by it', () => {
    const cache = new QueryClient()
    putTask(cache, aTask({ phase: 'working', revision: 2 }))
    expect(cache.getQueryData(['tasks'])).toBeUndefined()
    expect(newer(cache.getQueryData<Task>(['task', 1]), aTask({ revision: 1 })).phase).toBe('working')
  })

  it('replaces a guess of the same revision only when it is newer', () => {
    const cache = new QueryClient()
    cache.setQueryData(['tasks'], [aTask({ revision: 3 })])
    placeTask(cache, aTask({ phase: 'queued', revision: 3 }))
    putTask(cache, aTask({ phase: 'preparing', revision: 4 }))
    expect(cache.getQueryData<Task>(['task', 1])?.phase).toBe('preparing')
  })
})

describe('a conversation', () => {
  it('is followed only where somebody reads it', () => {
    const cache = new QueryClient()
    putMoment(cache, 7, say(1))
    expect(cache.getQueryData(['timeline', 7])).toBeUndefined()
    cache.setQueryData(['timeline', 7], [say(1)])
    putMoment(cache, 7, say(2))
    expect(cache.getQueryData<Moment[]>(['timeline', 7])?.map((it) => it.seq)).toEqual([1, 2])
  })

  it('has each moment once, the later telling of it', () => {
    const list = insert([say(1), say(2, 'half'), say(3)], say(2, 'whole'))
    expect(list.map((it) => it.text)).toEqual(['word 1', 'whole', 'word 3'])
  })

  it('is in order even when it is told out of order', () => {
    expect(insert([say(1), say(4)], say(2)).map((it) => it.seq)).toEqual([1, 2, 4])
    expect(insert([], say(2)).map((it) => it.seq)).toEqual([2])
    expect(insert([say(2)], say(1)).map((it) => it.seq)).toEqual([1, 2])
  })

  it('misses and repeats nothing when a page and the stream overlap', () => {
    expect(mergeMoments([say(1), say(2), say(3)], [say(3), say(4)]).map((it) => it.seq)).toEqual([1, 2, 3, 4])
  })
})
