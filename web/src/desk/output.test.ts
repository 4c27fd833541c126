import { describe, expect, it } from 'vitest'
import { plain, Transcript } from './output'

const base64 = (...bytes: number[]) => btoa(String.fromCharCode(...bytes))

describe('a transcript', () => {
  it('has every piece once, in order, whatever was told again', () => {
    const transcript = new Transcript()
    transcript.take('stdout', { offset: 0, text: 'one\n' })
    transcript.take('stdout', { offset: 4, text: 'two\n' })
    transcript.take('stdout', { offset: 0, text: 'one\ntwo\n' })
    transcript.take('stdout', { offset: 4, text: 'two\nthree\n' })
    expect(transcript.text).toBe('one\ntwo\nthree\n')
  })

  it('makes a letter whole that was cut between two pieces, also with the other stream between them', () => {
    const transcript = new Transcript()
    transcript.take('stdout', { offset: 0, base64: base64(0xc3) })
    transcript.take('stderr', { offset: 1, text: '!' })
    transcript.take('stdout', { offset: 2, base64: base64(0xa9) })
    expect(transcript.text).toBe('!é')
  })

  it('keeps the end of what is too long to be read', () => {
    const transcript = new Transcript()
    for (let at = 0; at < 40; at += 1)
      transcript.take('stdout', { offset: at * 10_000, text: `${String(at).padEnd(9_999, '.')}\n` })
    expect(transcript.isCut).toBe(true)
    expect(transcript.text.length).toBeLessThan(260_000)
    expect(transcript.text).toMatch(/39\.+\n$/)
  })
})

describe('what is meant for terminals', () => {
  it('is left out: colours, titles, and lines that were written over', () => {
    expect(plain('\u001b[1;32mok\u001b[0m \u001b]0;title\u0007done\r\n')).toBe('ok done\n')
    expect(plain('10 %\r50 %\r100 %\nend')).toBe('100 %\nend')
  })
})
