import { describe, expect, it } from 'vitest'
import { aSandbox } from '../sandbox/sample'
import { allowLine, canAllow, isAllowed } from './allow'

describe('a host', () => {
  it('is let through by its name, and by what it is below of', () => {
    expect(isAllowed('Crates.IO', ['crates.io'])).toBe(true)
    expect(isAllowed('static.crates.io', ['*.crates.io'])).toBe(true)
    expect(isAllowed('a.b.crates.io', ['*.crates.io'])).toBe(true)
  })

  it('is not let through by what only looks like it', () => {
    expect(isAllowed('crates.io', ['*.crates.io'])).toBe(false)
    expect(isAllowed('evilcrates.io', ['*.crates.io', 'crates.io'])).toBe(false)
    expect(isAllowed('static.crates.io', ['crates.io'])).toBe(false)
    expect(isAllowed('crates.io', [])).toBe(false)
  })
})

describe('a desk', () => {
  const network = (mode: 'none' | 'allow' | 'open') => ({ ...aSandbox({}).network, mode })

  it('can be given a host while it is there, unless it reaches everything', () => {
    expect(canAllow(aSandbox({ phase: 'ready', network: network('none') }))).toBe(true)
    expect(canAllow(aSandbox({ phase: 'ready', network: network('open') }))).toBe(false)
    expect(canAllow(aSandbox({ phase: 'paused', network: network('allow') }))).toBe(false)
  })

  it('is named in the command that does the same', () =>
    expect(allowLine(aSandbox({ id: 'sbx-7' }), 'crates.io')).toBe(
      'carrel sandbox network sbx-7 --allow crates.io',
    ))
})
