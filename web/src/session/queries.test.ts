import { QueryClient } from '@tanstack/react-query'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Session } from '../task/types'
import { diffOf, forkFrom, interrupt } from './queries'

const session = { id: 'ses_1', title: 'A talk', revision: 3 } as Session

/** A server that keeps what it was asked, and answers with the session. */
function answering(answer: Session): string[] {
  const asked: string[] = []
  vi.stubGlobal('fetch', async (path: string, init?: RequestInit) => {
    asked.push(`${path} ${String(init?.body)}`)
    return Response.json(answer)
  })
  return asked
}

afterEach(() => vi.unstubAllGlobals())

describe('a session', () => {
  it('is interrupted with words or without, and what it then is stands in the cache', async () => {
    const asked = answering(session)
    const cache = new QueryClient()
    await interrupt(cache, 'ses_1')
    await interrupt(cache, 'ses_1', 'rather this')
    expect(asked).toEqual([
      '/api/v1/sessions/ses_1/interrupt {}',
      '/api/v1/sessions/ses_1/interrupt {"text":"rather this"}',
    ])
    expect(cache.getQueryData(['session', 'ses_1'])).toEqual(session)
  })

  it('is forked from a checkpoint, and the other one is known at once', async () => {
    const asked = answering({ ...session, id: 'ses_2' })
    const cache = new QueryClient()
    cache.setQueryData(['sessions'], [session])
    expect((await forkFrom(cache, 'ses_1', 7)).id).toBe('ses_2')
    expect(asked).toEqual(['/api/v1/sessions/ses_1/fork {"from":7}'])
    expect(cache.getQueryData<Session[]>(['sessions'])?.map((it) => it.id)).toEqual(['ses_2', 'ses_1'])
  })

  it('has another diff after each save, and one for each checkpoint', () => {
    expect(diffOf(session, 'a').address).toBe('/api/v1/sessions/ses_1/diff')
    expect(diffOf(session, 'a', 7).address).toBe('/api/v1/sessions/ses_1/diff?from=7')
    const keys = [diffOf(session, 'a'), diffOf(session, 'b'), diffOf(session, 'a', 7)].map((it) => it.key)
    expect(new Set(keys.map((key) => JSON.stringify(key))).size).toBe(3)
  })
})
