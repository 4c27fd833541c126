import { describe, expect, it } from 'vitest'
import { bytes, print, whyNot } from './push'

describe('web push', () => {
  it('says why it cannot be had', () => {
    const all = { isSecureContext: true, hasWorkers: true, hasPush: true }
    expect(whyNot(all)).toBeUndefined()
    expect(whyNot({ ...all, isSecureContext: false })).toMatch(/https/)
    expect(whyNot({ ...all, hasPush: false })).toMatch(/no web push/)
  })

  it('reads keys as they are written', () => {
    expect([...bytes('BP4z_-8')]).toEqual([4, 254, 51, 255, 239])
  })

  it('names an address as the house does', async () => {
    expect(await print('https://push.example.net/send/abc')).toMatch(/^[0-9a-f]{24}$/)
    expect(await print('a')).not.toBe(await print('b'))
  })
})
