/** Which time zone moments are shown in: the one of this machine, unless somebody wants UTC. Kept in this browser. */
import { useSyncExternalStore } from 'react'

const NAME = 'carrel.zone'
const watchers = new Set<() => void>()
let chosen: string | undefined = load()

function load(): string | undefined {
  try {
    return localStorage.getItem(NAME) === 'UTC' ? 'UTC' : undefined
  } catch {
    return undefined
  }
}

/** The zone that was asked for; nothing for the one of this machine. */
export const zoneChosen = (): string | undefined => chosen

export const zoneHere = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone

export function useZone(): [string | undefined, (zone: 'UTC' | undefined) => void] {
  const zone = useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher)
      return () => watchers.delete(watcher)
    },
    () => chosen,
  )
  return [
    zone,
    (next) => {
      chosen = next
      try {
        if (next) localStorage.setItem(NAME, next)
        else localStorage.removeItem(NAME)
      } catch {
        // It lasts as long as the page.
      }
      for (const watcher of watchers) watcher()
    },
  ]
}
