import { describe, expect, it } from 'vitest'
import type { KeyView } from '../api/types'
import { people } from './queries'

const key = (name: string, role: KeyView['role'], revoked_at?: string): KeyView => ({
  id: `key-${name}`,
  name,
  role,
  prefix: 'crl_0000',
  created_at: '2026-01-01T00:00:00Z',
  revision: 1,
  ...(revoked_at ? { revoked_at } : {}),
})

describe('people', () => {
  it('are the keys of persons: admins first, those who left last', () => {
    const list = [
      key('zoe', 'member'),
      key('claude', 'agent'),
      key('box', 'sandbox'),
      key('gone', 'admin', '2026-02-01T00:00:00Z'),
      key('ada', 'member'),
      key('mona', 'admin'),
    ]
    expect(people(list).map((it) => it.name)).toEqual(['mona', 'ada', 'zoe', 'gone'])
  })
})
