/**
 * A line to a terminal in a sandbox, kept through every kind of interruption.
 *
 * Bytes are counted as they come, so that sitting down again begins exactly where the eye left off: nothing is missed, nothing shown twice.
 */
import { t } from '../words/words'

export type LineState = 'connecting' | 'open' | 'broken' | 'ended'

export interface LineOptions {
  sandboxId: string
  size(): { cols: number; rows: number }
  onBytes(bytes: Uint8Array): void
  onState(state: LineState, detail?: string): void
  open?(url: string): WebSocket
  cwd?: string | undefined
}

const FIRST_WAIT_MS = 400
const LONGEST_WAIT_MS = 6_000

export class Line {
  readonly #options: LineOptions
  #socket: WebSocket | undefined
  #exec: string | undefined
  #offset = 0
  #failures = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #over = false

  constructor(options: LineOptions) {
    this.#options = options
    this.#connect()
  }

  /** What was typed. */
  type(text: string): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(new TextEncoder().encode(text))
  }

  resize(cols: number, rows: number): void {
    if (this.#socket?.readyState === WebSocket.OPEN)
      this.#socket.send(JSON.stringify({ type: 'resize', cols, rows }))
  }

  close(): void {
    this.#over = true
    clearTimeout(this.#timer)
    this.#socket?.close()
  }

  #connect(): void {
    const { sandboxId, size, cwd } = this.#options
    const { cols, rows } = size()
    const ask = new URLSearchParams({ cols: String(cols), rows: String(rows) })
    if (this.#exec) {
      ask.set('exec_id', this.#exec)
      ask.set('offset', String(this.#offset))
    } else if (cwd) ask.set('cwd', cwd)
    const scheme = window.location.protocol === 'https:' ? 'wss' : 'ws'
    const url = `${scheme}://${window.location.host}/api/v1/sandboxes/${encodeURIComponent(sandboxId)}/terminal?${ask}`
    this.#options.onState('connecting')
    const socket = (this.#options.open ?? ((it) => new WebSocket(it)))(url)
    socket.binaryType = 'arraybuffer'
    this.#socket = socket
    socket.onmessage = (event: MessageEvent<ArrayBuffer | string>) => {
      if (typeof event.data === 'string') this.#hear(JSON.parse(event.data) as Told)
      else {
        const bytes = new Uint8Array(event.data)
        this.#offset += bytes.length
        this.#options.onBytes(bytes)
      }
    }
    socket.onclose = () => {
      if (this.#over || this.#socket !== socket) return
      this.#socket = undefined
      this.#options.onState('broken')
      const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.#failures)
      this.#failures += 1
      this.#timer = setTimeout(() => this.#connect(), wait)
    }
  }

  #hear(told: Told): void {
    switch (told.type) {
      case 'started': {
        this.#failures = 0
        this.#exec = told.exec_id
        this.#options.onState('open')
        // The window may have changed while nobody listened.
        const { cols, rows } = this.#options.size()
        this.resize(cols, rows)
        return
      }
      case 'exit':
        this.#over = true
        this.#options.onState(
          'ended',
          told.note ?? (told.code == null ? undefined : t('exit code {code}', { code: told.code })),
        )
        return
      case 'trouble':
        this.#options.onState('open', told.detail)
    }
  }
}

type Told =
  | { type: 'started'; exec_id: string; pid: number | null }
  | { type: 'exit'; code: number | null; note: string | null }
  | { type: 'trouble'; detail: string }
