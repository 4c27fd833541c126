import { QueryClient } from '@tanstack/react-query'
import { beforeEach, describe, expect, it } from 'vitest'
import { aSandbox } from '../sandbox/sample'
import { fold, forgetSandbox, placeGuess, putSandbox } from './fold'
import { keys } from './queries'
import type { Entry, KeyView, ProviderView, SandboxList, SandboxView } from './types'

let cache: QueryClient

const list = () => cache.getQueryData<SandboxList>(keys.sandboxes)?.items ?? []
const held = (id: string) => cache.getQueryData<SandboxView>(keys.sandbox(id))
const told = (sandbox: SandboxView): Entry => ({
  cursor: 1,
  at: sandbox.updated_at,
  kind: 'sandbox',
  sandbox,
})

beforeEach(() => {
  cache = new QueryClient()
  cache.setQueryData<SandboxList>(keys.sandboxes, {
    items: [aSandbox({ id: 'a', revision: 3 })],
    as_of: '7',
    cut: false,
  })
})

describe('folding an entry', () => {
  it('puts a sandbox never seen before at the head of the list', () => {
    fold(cache, told(aSandbox({ id: 'b' })))
    expect(list().map((it) => it.id)).toEqual(['b', 'a'])
  })

  it('replaces a sandbox where it stands, in the list and on its own page', () => {
    fold(cache, told(aSandbox({ id: 'b' })))
    fold(cache, told(aSandbox({ id: 'a', phase: 'paused', revision: 4 })))
    expect(list().map((it) => [it.id, it.phase])).toEqual([
      ['b', 'ready'],
      ['a', 'paused'],
    ])
    expect(held('a')?.phase).toBe('paused')
  })

  it('ignores an entry that is not newer than what is shown', () => {
    fold(cache, told(aSandbox({ id: 'a', phase: 'failed', revision: 3 })))
    fold(cache, told(aSandbox({ id: 'a', phase: 'failed', revision: 2 })))
    expect(list()[0]?.phase).toBe('ready')
  })

  it('leaves a list alone that nobody has asked for', () => {
    cache = new QueryClient()
    fold(cache, told(aSandbox({ id: 'b' })))
    expect(cache.getQueryData(keys.sandboxes)).toBeUndefined()
    expect(held('b')?.id).toBe('b')
  })

  it('keeps a sandbox that is gone until it is forgotten, and does not let an older word bring it back', () => {
    fold(cache, told(aSandbox({ id: 'a', phase: 'gone', revision: 9 })))
    expect(list().map((it) => it.phase)).toEqual(['gone'])
    forgetSandbox(cache, 'a')
    putSandbox(cache, aSandbox({ id: 'a', phase: 'ready', revision: 5 }))
    expect(list()).toEqual([])
  })

  it('adds the gone to the list of the gone when that is on the page', () => {
    cache.setQueryData<SandboxView[]>(keys.goneSandboxes, [])
    fold(cache, told(aSandbox({ id: 'a', phase: 'gone', revision: 9 })))
    expect(cache.getQueryData<SandboxView[]>(keys.goneSandboxes)?.map((it) => it.id)).toEqual(['a'])
  })

  it('does not list as living one that was gone before we heard of it', () => {
    fold(cache, told(aSandbox({ id: 'z', phase: 'gone' })))
    expect(list().map((it) => it.id)).toEqual(['a'])
  })

  it('lets the server replace a guess made on this page', () => {
    placeGuess(cache, { ...aSandbox({ id: 'a', revision: 3 }), phase: 'closing' })
    expect(list()[0]?.phase).toBe('closing')
    fold(cache, told(aSandbox({ id: 'a', phase: 'ready', revision: 4 })))
    expect(list()[0]?.phase).toBe('ready')
  })

  it('puts keys and providers by their names', () => {
    const key = { id: 'k1', name: 'laptop', revoked_at: null, revision: 1 } as KeyView
    const provider = { name: 'local', breaker: { state: 'closed' } } as ProviderView
    cache.setQueryData<KeyView[]>(keys.keys, [key])
    cache.setQueryData<ProviderView[]>(keys.providers, [provider])
    fold(cache, {
      cursor: 2,
      at: '',
      kind: 'key',
      key: { ...key, revoked_at: '2026-01-01T00:00:00Z', revision: 2 },
    })
    fold(cache, {
      cursor: 3,
      at: '',
      kind: 'provider',
      provider: { ...provider, breaker: { state: 'open', failures: 5, retry_at: null, last_error: 'no' } },
    })
    expect(cache.getQueryData<KeyView[]>(keys.keys)?.[0]?.revoked_at).not.toBeNull()
    expect(cache.getQueryData<ProviderView[]>(keys.providers)?.[0]?.breaker.state).toBe('open')
  })
})
