import { QueryClient } from '@tanstack/react-query'
import { afterEach, expect, it, vi } from 'vitest'
import { interrupt } from './interrupt'
import { aTask } from './sample'

/** A server that keeps what it was asked, and answers what it is told to. */
function answers(...told: (object | number)[]): string[] {
  const asked: string[] = []
  vi.stubGlobal('fetch', async (path: string, init?: RequestInit) => {
    asked.push(`${path.replace('/api/v1/tasks/7/', '')}${init?.body ? ` ${String(init.body)}` : ''}`)
    const next = told.shift() ?? 500
    return typeof next === 'number'
      ? Response.json({ title: 'No', status: next, detail: 'not now' }, { status: next })
      : Response.json(next)
  })
  return asked
}

afterEach(() => vi.unstubAllGlobals())

const task = (phase: 'backlog' | 'working' | 'queued') => aTask({ id: 7, phase })

it('stops the turn, writes the words down, and goes on', async () => {
  const asked = answers(task('backlog'), task('backlog'), task('queued'))
  expect(await interrupt(new QueryClient(), 7, 'hurry')).toBe(true)
  expect(asked).toEqual(['stop?wait=backlog&timeout=60', 'message {"text":"hurry"}', 'start'])
})

it('leaves the words for after the turn when the turn could not be stopped in time', async () => {
  const asked = answers(task('working'), task('working'))
  expect(await interrupt(new QueryClient(), 7, 'hurry')).toBe(true)
  expect(asked).toEqual(['stop?wait=backlog&timeout=60', 'message {"text":"hurry"}'])
})

it('says no when the words were not taken, and does not start what nobody spoke to', async () => {
  const asked = answers(task('backlog'), 422)
  expect(await interrupt(new QueryClient(), 7, 'hurry')).toBe(false)
  expect(asked).toHaveLength(2)
})

it('writes nothing down when nothing was stopped', async () => {
  const asked = answers(409)
  expect(await interrupt(new QueryClient(), 7, 'hurry')).toBe(false)
  expect(asked).toHaveLength(1)
})
