/** Which sheet of paper lies on the page: one at most, openable from anywhere. */
import { useSyncExternalStore } from 'react'
import type { NewTask } from '../task/types'

export type Sheet =
  | { name: 'task'; draft?: Partial<NewTask> }
  | { name: 'palette' }
  | { name: 'help' }
  | { name: 'places' }

let open: Sheet | undefined
const watchers = new Set<() => void>()

export function openSheet(sheet: Sheet | undefined): void {
  open = sheet
  for (const watcher of watchers) watcher()
}

export function useSheet(): Sheet | undefined {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher)
      return () => watchers.delete(watcher)
    },
    () => open,
  )
}
