import { afterEach, expect, it, vi } from 'vitest'
import { aTask } from '../task/sample'
import { mirror } from './mirror'
import type { Comment } from './review'

const comment: Comment = {
  id: 'c1',
  path: 'src/a.rs',
  side: 'additions',
  line: 3,
  code: 'let a = 1;',
  text: 'Why one?',
}
const task = aTask({ id: 7, repo: 'api', pull: { number: 12, url: '/', phase: 'open' } })

function forge(...statuses: number[]): Record<string, unknown>[] {
  const posted: Record<string, unknown>[] = []
  vi.stubGlobal('fetch', async (path: string, init?: RequestInit) => {
    expect(path).toBe('/api/v1/pulls/api/12/comments')
    posted.push(JSON.parse(String(init?.body)) as Record<string, unknown>)
    const status = statuses.shift() ?? 201
    return Response.json(status < 400 ? { id: '1' } : { title: 'No', status, detail: 'no such line' }, {
      status,
    })
  })
  return posted
}

afterEach(() => vi.unstubAllGlobals())

it('puts a comment on its line, with a stamp that makes it one', async () => {
  const posted = forge(201)
  await mirror(task, comment)
  expect(posted).toEqual([{ body: 'Why one?', path: 'src/a.rs', line: 3, side: 'new', stamp: 'review.7.c1' }])
})

it('names in words a line that the forge does not find in its diff', async () => {
  const posted = forge(422, 201)
  await mirror(task, comment)
  expect(posted[1]).toEqual({ body: '`src/a.rs:3`\n\nWhy one?', stamp: 'review.7.c1' })
})

it('says in words at once what no forge can number', async () => {
  const posted = forge(201)
  await mirror(task, { ...comment, side: 'deletions', isBetween: true })
  expect(posted).toHaveLength(1)
  expect(posted[0]).not.toHaveProperty('line')
})

it('does not say it twice when something else went wrong, and nothing without a pull', async () => {
  const posted = forge(502)
  await expect(mirror(task, comment)).rejects.toThrow('no such line')
  expect(posted).toHaveLength(1)
  await mirror(aTask({ id: 8 }), comment)
  expect(posted).toHaveLength(1)
})
