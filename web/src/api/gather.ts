/**
 * Gathers what the stream tells, so that entries which come together are drawn together.
 *
 * Two lanes. What an agent says is read as it is said: a reader must not wait for it longer than for a blink. Cards may be
 * drawn a little later, for under a storm of them every drawing costs the whole board. Entries of one lane keep their
 * order; the lanes share no subject, so neither waits for the other.
 */
import type { Entry } from './types'

interface Pace {
  /** What comes within this time of the first is drawn with it. */
  together: number
  /** From one drawing to the next it takes at least so long. */
  apart: number
}

const PACES = {
  words: { together: 8, apart: 33 },
  cards: { together: 25, apart: 120 },
} as const satisfies Record<string, Pace>

export class Gather {
  readonly #lanes: Record<keyof typeof PACES, Lane>

  /** `draw` is given everything of one lane that came since the last time, in order. */
  constructor(draw: (entries: Entry[]) => void) {
    this.#lanes = { words: new Lane(PACES.words, draw), cards: new Lane(PACES.cards, draw) }
  }

  take(entry: Entry): void {
    this.#lanes[entry.kind === 'moment' ? 'words' : 'cards'].take(entry)
  }

  stop(): void {
    for (const lane of Object.values(this.#lanes)) lane.stop()
  }
}

class Lane {
  readonly #pace: Pace
  readonly #draw: (entries: Entry[]) => void
  #held: Entry[] = []
  #timer: ReturnType<typeof setTimeout> | undefined
  #drawn = Number.NEGATIVE_INFINITY

  constructor(pace: Pace, draw: (entries: Entry[]) => void) {
    this.#pace = pace
    this.#draw = draw
  }

  take(entry: Entry): void {
    this.#held.push(entry)
    const { together, apart } = this.#pace
    this.#timer ??= setTimeout(
      () => {
        this.#timer = undefined
        this.#drawn = performance.now()
        this.#draw(this.#held.splice(0))
      },
      Math.max(together, this.#drawn + apart - performance.now()),
    )
  }

  stop(): void {
    clearTimeout(this.#timer)
  }
}
