/** Light, dark, or whatever the system says. `public/theme.js` puts the choice on the page before it is painted. */
import { useSyncExternalStore } from 'react'

export type Theme = 'system' | 'light' | 'dark'
const NAME = 'carrel.theme'
const watchers = new Set<() => void>()

export function useTheme(): [Theme, (theme: Theme) => void] {
  return [useSyncExternalStore(subscribe, chosen), choose]
}

/** The page itself remembers the choice, so every switch agrees. */
function chosen(): Theme {
  const theme = document.documentElement.dataset.theme
  return theme === 'light' || theme === 'dark' ? theme : 'system'
}

function choose(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
  try {
    if (theme === 'system') localStorage.removeItem(NAME)
    else localStorage.setItem(NAME, theme)
  } catch {
    // Without storage the choice lasts as long as the page.
  }
  for (const watcher of watchers) watcher()
}

function subscribe(watcher: () => void): () => void {
  watchers.add(watcher)
  return () => watchers.delete(watcher)
}

const system = () => window.matchMedia('(prefers-color-scheme: dark)')

/** Whether the page is dark now, whoever decided it. For parts that cannot read the tokens. */
export function useIsDark(): boolean {
  return useSyncExternalStore(
    (watcher) => {
      const media = system()
      media.addEventListener('change', watcher)
      const stop = subscribe(watcher)
      return () => {
        media.removeEventListener('change', watcher)
        stop()
      }
    },
    () => (chosen() === 'system' ? system().matches : chosen() === 'dark'),
  )
}
