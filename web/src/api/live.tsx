/** Keeps the page's memory true: one stream for the whole page, folded into the cache as it comes. */
import { notifyManager, type QueryClient, useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react'
import { fold, forgetSandbox } from './fold'
import { Gather } from './gather'
import { keys, sandboxes } from './queries'
import { Stream, type StreamState } from './stream'
import type { Entry } from './types'
import { watch } from './watch'

export interface Live {
  state: StreamState
  /** The server said it is going away. It takes it back by being there again. */
  isDraining: boolean
  /** Since when nothing was heard; nothing while it is live, or rests because nobody looks. */
  silentSince?: number | undefined
}

/** Kinds of entries this page understands, by their SSE names. */
export const KINDS: readonly Entry['kind'][] = [
  'sandbox',
  'key',
  'provider',
  'template',
  'repo',
  'push',
  'task',
  'moment',
  'session',
  'agent',
  'pull',
  'base',
  'budget',
]

/** How long one that is gone stays to be seen going. */
const FAREWELL_MS = 5_000
const RETRY_MS = 2_000

const LiveContext = createContext<Live>({ state: 'connecting', isDraining: false })

export const useLive = () => useContext(LiveContext)

export function LiveProvider({ children }: { children: ReactNode }) {
  const cache = useQueryClient()
  const [live, setLive] = useState<Live>({ state: 'connecting', isDraining: false })
  useEffect(() => follow(cache, setLive), [cache])
  return <LiveContext.Provider value={live}>{children}</LiveContext.Provider>
}

/** List, then everything after the list; again from the list when the gap grew too old. Returns how to stop. */
function follow(cache: QueryClient, say: (live: Live) => void): () => void {
  let stream: Stream | undefined
  let over = false
  let timer: ReturnType<typeof setTimeout> | undefined
  let isDraining = false
  let state: StreamState = 'connecting'
  let silentSince: number | undefined
  const tell = () => {
    if (state !== 'reconnecting') silentSince = undefined
    else silentSince ??= Date.now()
    say({ state, isDraining, silentSince })
  }

  const gather = new Gather((entries) =>
    notifyManager.batch(() => {
      for (const entry of entries) {
        fold(cache, entry)
        if (entry.kind === 'sandbox' && entry.sandbox.phase === 'gone') {
          setTimeout(() => forgetSandbox(cache, entry.sandbox.id), FAREWELL_MS)
        }
      }
    }),
  )

  const start = async (afresh: boolean) => {
    try {
      const list = afresh
        ? await cache.fetchQuery({ ...sandboxes, staleTime: 0 })
        : await cache.ensureQueryData(sandboxes)
      if (over) return
      // Whatever else was on the page missed the same gap.
      if (afresh)
        void cache.invalidateQueries({
          predicate: (query) => query.queryKey[0] !== keys.sandboxes[0] || query.queryKey.length > 1,
        })
      stream = new Stream({
        address: '/api/v1/events',
        after: list.as_of,
        kinds: KINDS,
        onEntry: (data) => gather.take(JSON.parse(data) as Entry),
        onState: (next) => {
          if (next === 'live') {
            isDraining = false
            // These lists carry no `as_of`; asking once we listen leaves no gap before it.
            void cache.invalidateQueries({ queryKey: keys.providers })
            void cache.invalidateQueries({ queryKey: keys.keys })
          }
          state = next
          tell()
        },
        onDrain: () => {
          isDraining = true
          tell()
        },
        // EventSource does not say which refusal it was; asking who we are does, and a 401 leads to the sign-in page.
        onRefused: () => void cache.invalidateQueries({ queryKey: keys.me }),
        onReset: () => void start(true),
      })
    } catch {
      if (over) return
      state = 'reconnecting'
      tell()
      timer = setTimeout(() => void start(afresh), RETRY_MS)
    }
  }

  const unwatch = watch({ rest: () => stream?.rest(), wake: () => stream?.wake() })
  const hurry = () => stream?.hurry()
  window.addEventListener('online', hurry)
  void start(false)

  return () => {
    over = true
    clearTimeout(timer)
    unwatch()
    window.removeEventListener('online', hurry)
    stream?.close()
    gather.stop()
  }
}
