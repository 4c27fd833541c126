/**
 * Follows the journal from a cursor, through every kind of interruption.
 *
 *   connecting ─► live ─► reconnecting ─► live
 *        └─────────┴───────────┴────────► resting ─► connecting      (nobody is looking)
 *
 * We do not lean on EventSource's own reconnection: it gives up for good on any answer but 200, and each browser has its own idea
 * of a refused connection. Every error is the same case here: close, wait a little longer than last time, open after the last cursor.
 */

export type StreamState = 'connecting' | 'live' | 'reconnecting' | 'resting'

/** The part of EventSource we use, so that tests can stand in for the network. */
export interface Source {
  readonly readyState: number
  addEventListener(type: string, listener: (event: MessageEvent) => void): void
  close(): void
}

export interface StreamOptions {
  /** The address to follow, without where to begin. */
  address: string
  after: string
  /** What the address calls the place to begin at, `after` unless said; null where it is told from its beginning each time. */
  place?: 'after' | 'offset' | null
  kinds: readonly string[]
  onEntry(data: string, kind: string): void
  /** The gap is too old to be told. The stream has closed; ask for everything and start another. */
  onReset(data: string): void
  onState?(state: StreamState): void
  /** The server is going away and will be back. */
  onDrain?(): void
  /** The server answered, and it was no. Worth finding out why. */
  onRefused?(): void
  open?(url: string): Source
  /** Between 0 and 1, to spread a crowd of pages that all lost the same server. */
  jitter?(): number
}

const FIRST_WAIT_MS = 400
const LONGEST_WAIT_MS = 8_000
const CLOSED = 2

export class Stream {
  readonly #options: StreamOptions
  #after: string
  #source: Source | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #failures = 0
  #over = false

  constructor(options: StreamOptions) {
    this.#options = options
    this.#after = options.after
    this.#connect('connecting')
  }

  /** The cursor of the last entry seen. */
  get after(): string {
    return this.#after
  }

  /** Lets go of the connection until `wake`. Browsers allow six per server over HTTP/1.1, for all tabs together. */
  rest(): void {
    if (this.#over) return
    this.#drop()
    this.#say('resting')
  }

  wake(): void {
    if (this.#over || this.#source || this.#timer) return
    this.#connect('connecting')
  }

  /** Tries now instead of when the wait is over. */
  hurry(): void {
    if (this.#over || !this.#timer) return
    this.#drop()
    this.#connect('reconnecting')
  }

  close(): void {
    this.#over = true
    this.#drop()
  }

  #connect(state: StreamState): void {
    this.#say(state)
    const open = this.#options.open ?? ((url) => new EventSource(url))
    const source = open(this.#address())
    this.#source = source
    // A source we already dropped may still have something to say; nobody listens.
    const on = (type: string, act: (event: MessageEvent) => void) =>
      source.addEventListener(type, (event) => {
        if (this.#source === source) act(event)
      })

    on('open', () => {
      this.#failures = 0
      this.#say('live')
    })
    for (const kind of this.#options.kinds) {
      on(kind, (event) => {
        this.#options.onEntry(event.data as string, kind)
        if (event.lastEventId) this.#after = event.lastEventId
      })
    }
    on('reset', (event) => {
      this.close()
      this.#options.onReset(event.data as string)
    })
    on('drain', () => this.#options.onDrain?.())
    on('error', () => {
      const refused = source.readyState === CLOSED
      this.#drop()
      this.#timer = setTimeout(() => {
        this.#timer = undefined
        this.#connect('reconnecting')
      }, this.#wait())
      this.#say('reconnecting')
      if (refused) this.#options.onRefused?.()
    })
  }

  #address(): string {
    const { address, place = 'after' } = this.#options
    if (place === null) return address
    return `${address}${address.includes('?') ? '&' : '?'}${place}=${encodeURIComponent(this.#after)}`
  }

  #wait(): number {
    const full = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.#failures)
    this.#failures += 1
    const jitter = this.#options.jitter ?? Math.random
    return full / 2 + (full / 2) * jitter()
  }

  #drop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#source?.close()
    this.#source = undefined
  }

  #say(state: StreamState): void {
    this.#options.onState?.(state)
  }
}

/** Lets a stream rest while nobody looks at the page. Returns how to stop. */
export function whileSeen(stream: Stream): () => void {
  const look = () => (document.hidden ? stream.rest() : stream.wake())
  document.addEventListener('visibilitychange', look)
  return () => {
    document.removeEventListener('visibilitychange', look)
    stream.close()
  }
}
