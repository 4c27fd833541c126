/** One stream for the whole page. Each entry carries its subject as it now is, so folding is a put. */
import type { QueryClient } from '@tanstack/react-query'
import { putPull } from '../pull/fold'
import { putSession, putSessionMoment } from '../session/fold'
import { putMoment, putTask } from '../task/fold'
import { keys } from './queries'
import type { Entry, KeyView, ProviderView, RepoView, SandboxList, SandboxView, TemplateView } from './types'

export function fold(cache: QueryClient, entry: Entry): void {
  switch (entry.kind) {
    case 'sandbox':
      putSandbox(cache, entry.sandbox)
      return
    case 'key':
      putKey(cache, entry.key)
      return
    case 'provider':
      putProvider(cache, entry.provider)
      return
    case 'template':
      putNamed<TemplateView>(cache, keys.templates, entry.template)
      return
    case 'repo':
      putNamed<RepoView>(cache, keys.repos, entry.repo)
      return
    case 'push':
      void cache.invalidateQueries({ queryKey: keys.pushes(entry.push.repo) })
      return
    case 'task':
      putTask(cache, entry.task)
      return
    case 'moment':
      if (entry.task_id != null) putMoment(cache, entry.task_id, entry.moment)
      if (entry.session_id != null) putSessionMoment(cache, entry.session_id, entry.moment)
      return
    case 'session':
      putSession(cache, entry.session)
      return
    case 'agent':
      void cache.invalidateQueries({ queryKey: keys.agents })
      return
    case 'pull':
      putPull(cache, entry.pull)
      return
    case 'budget':
      void cache.invalidateQueries({ queryKey: keys.usage })
      return
    case 'base':
      return // the tasks it concerns are told themselves
    default:
      entry satisfies never // a new kind of entry stops the build here
  }
}

/** Puts a sandbox wherever it is shown. One that is not newer than what we hold is old news. */
export function putSandbox(cache: QueryClient, sandbox: SandboxView): void {
  const list = cache.getQueryData<SandboxList>(keys.sandboxes)
  const held =
    cache.getQueryData<SandboxView>(keys.sandbox(sandbox.id)) ??
    list?.items.find((it) => it.id === sandbox.id)
  if (held && held.revision >= sandbox.revision) return
  place(cache, sandbox)
}

/** Puts a guess made here, at the revision it was guessed from; the server's next word replaces it. */
export function placeGuess(cache: QueryClient, sandbox: SandboxView): void {
  place(cache, sandbox)
}

/** Takes a sandbox off the list. Its own page still knows it. */
export function forgetSandbox(cache: QueryClient, id: string): void {
  cache.setQueryData<SandboxList>(
    keys.sandboxes,
    (list) => list && { ...list, items: list.items.filter((it) => it.id !== id) },
  )
}

function place(cache: QueryClient, sandbox: SandboxView): void {
  cache.setQueryData(keys.sandbox(sandbox.id), sandbox)
  cache.setQueryData<SandboxList>(keys.sandboxes, (list) => {
    if (!list) return list
    const known = list.items.some((it) => it.id === sandbox.id)
    // One we never saw alive has no place among the living.
    if (!known && sandbox.phase === 'gone') return list
    return { ...list, items: put(list.items, sandbox, (it) => it.id) }
  })
  if (sandbox.phase === 'gone') {
    cache.setQueryData<SandboxView[]>(keys.goneSandboxes, (gone) => gone && put(gone, sandbox, (it) => it.id))
  }
}

function putKey(cache: QueryClient, key: KeyView): void {
  cache.setQueryData<KeyView[]>(keys.keys, (list) => {
    const held = list?.find((it) => it.id === key.id)
    return list && !(held && held.revision >= key.revision) ? put(list, key, (it) => it.id) : list
  })
}

function putProvider(cache: QueryClient, provider: ProviderView): void {
  cache.setQueryData<ProviderView[]>(keys.providers, (list) => list && put(list, provider, (it) => it.name))
}

/** Repositories and templates: known by name, and told once more when they are removed. */
function putNamed<T extends { name: string; revision: number; removed?: boolean }>(
  cache: QueryClient,
  key: readonly unknown[],
  item: T,
): void {
  cache.setQueryData<T[]>(key, (list) => {
    if (!list) return list
    if (item.removed) return list.filter((it) => it.name !== item.name)
    const held = list.find((it) => it.name === item.name)
    return held && held.revision >= item.revision ? list : put(list, item, (it) => it.name)
  })
}

/** Replaces in place, or adds in front: lists are newest first. */
function put<T>(list: T[], item: T, name: (item: T) => string): T[] {
  const at = list.findIndex((it) => name(it) === name(item))
  return at < 0 ? [item, ...list] : list.with(at, item)
}
