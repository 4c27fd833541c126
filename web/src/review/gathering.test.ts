import { describe, expect, it } from 'vitest'
import { Gathering, type Wanted } from './gathering'

const DIFF = '/api/v1/tasks/1/diff'
const file = (path: string, more: Partial<Wanted> = {}): Wanted => ({
  address: DIFF,
  path,
  lines: 10,
  ...more,
})

/** Answers when it is told to, and remembers what it was asked. */
function shelf() {
  const asked: string[][] = []
  const answers: (() => void)[] = []
  const gathering = new Gathering((address) => {
    asked.push(new URL(address, 'http://x').searchParams.getAll('path'))
    return new Promise((resolve) => answers.push(() => resolve(address)))
  })
  return { asked, answers, gathering }
}

/** After what was put off before: timers of the same length go off in their order. */
const soon = () => new Promise((resolve) => setTimeout(resolve))

describe('files that are wanted', () => {
  it('together are read in one request, each by its name', async () => {
    const { asked, answers, gathering } = shelf()
    const both = Promise.all([gathering.want(file('a b.txt')), gathering.want(file('c&d.txt'))])
    await soon()
    expect(asked).toEqual([['c&d.txt', 'a b.txt']])
    answers[0]?.()
    expect(await both).toEqual(Array(2).fill(`${DIFF}?path=c%26d.txt&path=a+b.txt&renames=false`))
  })

  it('are read a few at a time, and what was wanted last comes first', async () => {
    const { asked, answers, gathering } = shelf()
    for (let at = 0; at < 100; at += 1) void gathering.want(file(`f${at}`))
    await soon()
    expect(asked.map((it) => it.length)).toEqual([20, 20])
    expect(asked[0]?.[0]).toBe('f99')
    void gathering.want(file('late'))
    answers[0]?.()
    await soon()
    expect(asked[2]?.[0]).toBe('late')
  })

  it('stand alone when they are large, were moved, or belong to another diff', async () => {
    const { asked, answers, gathering } = shelf()
    void gathering.want(file('small'))
    void gathering.want(file('large', { lines: 20_000 }))
    void gathering.want(file('new', { before: 'old' }))
    void gathering.want(file('there', { address: `${DIFF}?from=3` }))
    for (let at = 0; at < 4; at += 1) {
      await soon()
      answers[at]?.()
    }
    await soon()
    expect(asked).toEqual([['there'], ['new', 'old'], ['large'], ['small']])
  })

  it('are all told when it fails, and the next ones are read', async () => {
    let fails = true
    const gathering = new Gathering(async (address) => {
      if (fails) throw new Error('away')
      return address
    })
    await expect(gathering.want(file('a'))).rejects.toThrow('away')
    fails = false
    expect(await gathering.want(file('a'))).toContain('path=a')
  })
})
