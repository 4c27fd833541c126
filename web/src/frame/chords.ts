/** Keys that work on every page: `Ctrl+K`, and `g` followed by the letter of a place. */
import { useEffect } from 'react'
import { isFree } from '../ui/shortcuts'
import { PLACES } from './places'
import { openSheet } from './sheets'

const PATIENCE_MS = 1200

type Place = (typeof PLACES)[number]

/** Remembers a `g`, and for how long it holds. Its moments are counted from when the page was loaded. */
export class Chord {
  #began: number | undefined

  /** The place that is meant, when this key is the second one. */
  hear(key: string, at: number): Place | undefined {
    const isSecond = this.#began !== undefined && at - this.#began < PATIENCE_MS
    this.#began = key === 'g' ? at : undefined
    return isSecond ? PLACES.find((it) => it.key === key) : undefined
  }
}

/** Heard before the page's own keys, so that `g s` goes to the sessions and starts nothing. */
export function useChords(go: (to: Place['to']) => void): void {
  useEffect(() => {
    const chord = new Chord()
    const listen = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)) {
        event.preventDefault()
        openSheet({ name: 'palette' })
        return
      }
      if (!isFree(event) || event.target instanceof HTMLInputElement) return
      const place = chord.hear(event.key, event.timeStamp)
      if (!place) return
      event.preventDefault()
      event.stopPropagation()
      go(place.to)
    }
    document.addEventListener('keydown', listen, true)
    return () => document.removeEventListener('keydown', listen, true)
  }, [go])
}
