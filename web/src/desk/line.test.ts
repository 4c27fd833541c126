import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Line, type LineState } from './line'

class Socket {
  static readonly OPEN = 1
  binaryType = ''
  readyState = 0
  sent: (string | Uint8Array)[] = []
  onmessage: ((event: { data: unknown }) => void) | undefined
  onclose: (() => void) | undefined
  readonly url: URL
  constructor(url: string) {
    this.url = new URL(url)
  }
  send(what: string | Uint8Array) {
    this.sent.push(what)
  }
  close() {
    this.readyState = 3
  }
  says(told: object) {
    this.readyState = 1
    this.onmessage?.({ data: JSON.stringify(told) })
  }
  prints(text: string) {
    this.onmessage?.({ data: new TextEncoder().encode(text).buffer })
  }
  breaks() {
    this.readyState = 3
    this.onclose?.()
  }
}

let sockets: Socket[]
let states: LineState[]
let printed: string
let line: Line

beforeEach(() => {
  vi.useFakeTimers()
  vi.stubGlobal('window', { location: { protocol: 'https:', host: 'carrel.example' } })
  vi.stubGlobal('WebSocket', Socket)
  sockets = []
  states = []
  printed = ''
  line = new Line({
    sandboxId: 'i1',
    cwd: '/workspace',
    size: () => ({ cols: 80, rows: 24 }),
    onBytes: (bytes) => {
      printed += new TextDecoder().decode(bytes)
    },
    onState: (state) => states.push(state),
    open: (url) => {
      const socket = new Socket(url)
      sockets.push(socket)
      return socket as unknown as WebSocket
    },
  })
})

afterEach(() => {
  line.close()
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

const last = () => sockets.at(-1) as Socket

describe('a line to a terminal', () => {
  it('begins in its folder, with the size of the window', () => {
    expect(last().url.protocol).toBe('wss:')
    expect(Object.fromEntries(last().url.searchParams)).toEqual({
      cols: '80',
      rows: '24',
      cwd: '/workspace',
    })
    last().says({ type: 'started', exec_id: 'e1', pid: 7 })
    expect(states).toEqual(['connecting', 'open'])
    expect(last().sent).toEqual([JSON.stringify({ type: 'resize', cols: 80, rows: 24 })])
  })

  it('that broke is taken up at the byte where the eye left off', () => {
    last().says({ type: 'started', exec_id: 'e1', pid: 7 })
    last().prints('héllo')
    last().breaks()
    expect(states.at(-1)).toBe('broken')
    vi.advanceTimersByTime(400)
    expect(sockets).toHaveLength(2)
    expect(last().url.searchParams.get('exec_id')).toBe('e1')
    expect(last().url.searchParams.get('offset')).toBe('6')
    expect(last().url.searchParams.get('cwd')).toBeNull()
    last().says({ type: 'started', exec_id: 'e1', pid: 7 })
    last().prints(' again')
    expect(printed).toBe('héllo again')
  })

  it('waits longer each time, and begins afresh once it stood', () => {
    const waited = () => {
      const before = sockets.length
      let ms = 0
      while (sockets.length === before && ms < 20_000) {
        vi.advanceTimersByTime(100)
        ms += 100
      }
      return ms
    }
    const waits = Array.from({ length: 6 }, () => {
      last().breaks()
      return waited()
    })
    expect(waits).toEqual([400, 800, 1600, 3200, 6000, 6000])
    last().says({ type: 'started', exec_id: 'e1', pid: 7 })
    last().breaks()
    expect(waited()).toBe(400)
  })

  it('takes what is typed only while it stands', () => {
    line.type('lost')
    last().says({ type: 'started', exec_id: 'e1', pid: 7 })
    line.type('ls')
    expect(last().sent.slice(1)).toEqual([new TextEncoder().encode('ls')])
  })

  it('that ended is not opened again', () => {
    last().says({ type: 'started', exec_id: 'e1', pid: 7 })
    last().says({ type: 'exit', code: 0, note: null })
    last().breaks()
    vi.advanceTimersByTime(60_000)
    expect(states.at(-1)).toBe('ended')
    expect(sockets).toHaveLength(1)
  })
})
