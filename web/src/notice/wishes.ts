/** How this browser wants to be told that a card needs somebody. Nothing is on until it is asked for. */
import { useSyncExternalStore } from 'react'

export interface Wishes {
  sound: boolean
  desktop: boolean
}

const NAME = 'carrel.notices'
const watchers = new Set<() => void>()
let wishes = read()

function read(): Wishes {
  try {
    const kept = JSON.parse(localStorage.getItem(NAME) ?? '{}') as Partial<Wishes>
    return { sound: kept.sound === true, desktop: kept.desktop === true }
  } catch {
    return { sound: false, desktop: false }
  }
}

export const currentWishes = () => wishes

export function useWishes(): [Wishes, (change: Partial<Wishes>) => void] {
  return [useSyncExternalStore(subscribe, currentWishes), change]
}

function change(next: Partial<Wishes>): void {
  wishes = { ...wishes, ...next }
  try {
    localStorage.setItem(NAME, JSON.stringify(wishes))
  } catch {
    // Without storage the wish lasts as long as the page.
  }
  for (const watcher of watchers) watcher()
}

function subscribe(watcher: () => void): () => void {
  watchers.add(watcher)
  return () => watchers.delete(watcher)
}
