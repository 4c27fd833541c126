/** Keys that work on every page: `Ctrl+K`, and `g` followed by the letter of a place. */
import { useEffect } from 'react'
import { isFree } from '../ui/shortcuts'
import { PLACES } from './places'
import { openSheet } from './sheets'

const PATIENCE_MS = 1200

/** Heard before the page's own keys, so that `g s` goes to the sessions and starts nothing. */
export function useChords(go: (to: (typeof PLACES)[number]['to']) => void): void {
  useEffect(() => {
    let began = 0
    const listen = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)) {
        event.preventDefault()
        openSheet({ name: 'palette' })
        return
      }
      if (!isFree(event) || event.target instanceof HTMLInputElement) return
      const isSecond = event.timeStamp - began < PATIENCE_MS
      began = event.key === 'g' ? event.timeStamp : 0
      const place = isSecond ? PLACES.find((it) => it.key === event.key) : undefined
      if (!place) return
      event.preventDefault()
      event.stopPropagation()
      go(place.to)
    }
    document.addEventListener('keydown', listen, true)
    return () => document.removeEventListener('keydown', listen, true)
  }, [go])
}
