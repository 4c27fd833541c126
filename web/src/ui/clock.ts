/** One clock for the whole page: everything that counts, counts together, and by the server's time. */
import { useSyncExternalStore } from 'react'

let ahead = 0
let now = Date.now()
const watchers = new Set<() => void>()
let ticking: ReturnType<typeof setInterval> | undefined

/** Corrects for a visitor whose clock is off. The `Date` header has whole seconds, so small differences are noise. */
export function learnServerTime(date: string | null, here = Date.now()): void {
  const there = date ? Date.parse(date) : Number.NaN
  if (Number.isNaN(there)) return
  const difference = there - here
  ahead = Math.abs(difference) > 3_000 ? difference : 0
}

function tick(): void {
  now = Date.now() + ahead
  for (const watcher of watchers) watcher()
}

function subscribe(watcher: () => void): () => void {
  if (watchers.size === 0) {
    now = Date.now() + ahead
    ticking = setInterval(tick, 1_000)
  }
  watchers.add(watcher)
  return () => {
    watchers.delete(watcher)
    if (watchers.size === 0) clearInterval(ticking)
  }
}

/** Something read off the clock, once a second. Only a reading that changed is drawn again, so a thousand ages cost little. */
export function useReading<T extends string | number | boolean>(read: (now: number) => T): T {
  return useSyncExternalStore(subscribe, () => read(now))
}
