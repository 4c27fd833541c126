/** How news of pulls is put into the cache. */
import type { QueryClient } from '@tanstack/react-query'
import type { Pull } from './types'

export const pullKey = (repo: string, number: number) => ['pull', repo, number] as const

export function putPull(cache: QueryClient, pull: Pull): void {
  const key = pullKey(pull.repo, pull.number)
  const held = cache.getQueryData<Pull>(key)
  if (held && held.revision >= pull.revision) return
  cache.setQueryData(key, pull)
  // What hangs on it is asked for again when somebody looks.
  void cache.invalidateQueries({ queryKey: ['open-pulls', pull.repo] })
  void cache.invalidateQueries({ queryKey: [...key, 'checks'] })
  void cache.invalidateQueries({ queryKey: [...key, 'comments'] })
  void cache.invalidateQueries({ queryKey: [...key, 'reviews'] })
}
