import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Source, Stream, type StreamOptions, type StreamState } from './stream'

/** A server's end of one connection. */
class Line implements Source {
  readyState = 0
  closed = false
  readonly url: string
  #listeners = new Map<string, (event: MessageEvent) => void>()

  constructor(url: string) {
    this.url = url
  }
  addEventListener(type: string, listener: (event: MessageEvent) => void): void {
    this.#listeners.set(type, listener)
  }
  close(): void {
    this.closed = true
    this.readyState = 2
  }
  opens(): void {
    this.readyState = 1
    this.#send('open')
  }
  tells(kind: string, cursor: string, data = '{}'): void {
    this.#send(kind, data, cursor)
  }
  breaks(readyState = 0): void {
    this.readyState = readyState
    this.#send('error')
  }
  #send(type: string, data = '', lastEventId = ''): void {
    this.#listeners.get(type)?.({ data, lastEventId } as MessageEvent)
  }
}

function following(extra: Partial<StreamOptions> = {}) {
  const lines: Line[] = []
  const states: StreamState[] = []
  const entries: string[] = []
  const stream = new Stream({
    address: '/api/v1/events',
    after: '7',
    kinds: ['sandbox'],
    onEntry: (data) => entries.push(data),
    onReset: () => {},
    onState: (state) => states.push(state),
    open: (url) => {
      const line = new Line(url)
      lines.push(line)
      return line
    },
    jitter: () => 1,
    ...extra,
  })
  return { stream, lines, states, entries, line: () => lines.at(-1) as Line }
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('the stream', () => {
  it('starts after the cursor it was given', () => {
    const { line } = following()
    expect(line().url).toBe('/api/v1/events?after=7')
  })

  it('keeps the filters that stand in its address', () => {
    const { line } = following({ address: '/api/v1/events?sandbox_id=abc' })
    expect(line().url).toBe('/api/v1/events?sandbox_id=abc&after=7')
  })

  it('is live once the server has answered', () => {
    const { line, states } = following()
    line().opens()
    expect(states).toEqual(['connecting', 'live'])
  })

  it('comes back after the last entry it saw, so nothing is missed and nothing is told twice', () => {
    const { line, lines, states } = following()
    line().opens()
    line().tells('sandbox', '8')
    line().tells('sandbox', '12')
    line().breaks()
    vi.advanceTimersByTime(400)
    expect(lines).toHaveLength(2)
    expect(line().url).toBe('/api/v1/events?after=12')
    line().opens()
    expect(states).toEqual(['connecting', 'live', 'reconnecting', 'reconnecting', 'live'])
  })

  it('waits longer each time, never longer than eight seconds, and starts over once it is back', () => {
    const { line, lines } = following()
    const waits: number[] = []
    for (let round = 0; round < 7; round += 1) {
      const before = lines.length
      line().breaks()
      let waited = 0
      while (lines.length === before) {
        vi.advanceTimersByTime(100)
        waited += 100
      }
      waits.push(waited)
    }
    expect(waits).toEqual([400, 800, 1600, 3200, 6400, 8000, 8000])
    line().opens()
    line().breaks()
    vi.advanceTimersByTime(400)
    expect(lines).toHaveLength(9)
  })

  it('asks why when the server answered with a refusal, and only then', () => {
    const onRefused = vi.fn()
    const { line } = following({ onRefused })
    line().breaks(0)
    expect(onRefused).not.toHaveBeenCalled()
    vi.advanceTimersByTime(400)
    line().breaks(2)
    expect(onRefused).toHaveBeenCalledOnce()
  })

  it('stops for good when the gap is too old to be told', () => {
    const onReset = vi.fn()
    const { line, lines } = following({ onReset })
    line().opens()
    line().tells('reset', '')
    expect(onReset).toHaveBeenCalledOnce()
    expect(line().closed).toBe(true)
    vi.advanceTimersByTime(60_000)
    expect(lines).toHaveLength(1)
  })

  it('holds no connection while it rests, and wakes where it stopped', () => {
    const { stream, line, lines, states } = following()
    line().opens()
    line().tells('sandbox', '9')
    stream.rest()
    expect(line().closed).toBe(true)
    vi.advanceTimersByTime(60_000)
    expect(lines).toHaveLength(1)
    stream.wake()
    expect(line().url).toBe('/api/v1/events?after=9')
    expect(states.at(-1)).toBe('connecting')
  })

  it('can be hurried when the network comes back', () => {
    const { stream, line, lines } = following()
    line().breaks()
    stream.hurry()
    expect(lines).toHaveLength(2)
    vi.advanceTimersByTime(60_000)
    expect(lines).toHaveLength(2)
  })

  it('hears nothing from a connection it has dropped', () => {
    const { stream, lines, entries } = following()
    stream.rest()
    stream.wake()
    lines[0]?.tells('sandbox', '99', 'old')
    expect(entries).toEqual([])
    expect(stream.after).toBe('7')
  })

  it('does not come back once it is closed', () => {
    const { stream, line, lines } = following()
    line().breaks()
    stream.close()
    stream.wake()
    vi.advanceTimersByTime(60_000)
    expect(lines).toHaveLength(1)
  })
})
