/** What this page remembers, by name. The stream keeps these fresh (see `fold`), so nothing here goes stale by itself. */
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { api, ask } from './client'
import type { RepoView, SandboxList, SandboxView, SecretView, TemplateView } from './types'

const PAGE = 100
/** Past this many the list stops asking and says so; filters and the command line serve better there. */
const MOST = 1000

export const keys = {
  me: ['me'] as const,
  sandboxes: ['sandboxes'] as const,
  goneSandboxes: ['sandboxes', 'gone'] as const,
  sandbox: (id: string) => ['sandbox', id] as const,
  providers: ['providers'] as const,
  keys: ['keys'] as const,
  repos: ['repos'] as const,
  pushes: (repo: string) => ['pushes', repo] as const,
  templates: ['templates'] as const,
  secrets: ['secrets'] as const,
  agents: ['agents'] as const,
  sessions: ['sessions'] as const,
  pulls: ['pulls'] as const,
  usage: ['usage'] as const,
  audit: (filter: AuditFilter) => ['audit', filter] as const,
}

export const me = queryOptions({
  queryKey: keys.me,
  queryFn: () => ask(api.GET('/api/v1/me')),
})

/** Everything alive. The first page's `as_of` is the one to follow from: what changed while we turned pages comes again, newer. */
export const sandboxes = queryOptions({
  queryKey: keys.sandboxes,
  queryFn: async (): Promise<SandboxList> => {
    const items: SandboxView[] = []
    let asOf: string | undefined
    let cursor: string | null | undefined
    do {
      const page = await ask(
        api.GET('/api/v1/sandboxes', { params: { query: { limit: PAGE, ...(cursor ? { cursor } : {}) } } }),
      )
      asOf ??= String(page.as_of)
      items.push(...page.items)
      cursor = page.next
    } while (cursor && items.length < MOST)
    return { items, as_of: asOf, cut: Boolean(cursor) }
  },
  // The stream goes on from this list's `as_of` for as long as the page lives, so the list must live as long.
  gcTime: Number.POSITIVE_INFINITY,
})

export const goneSandboxes = queryOptions({
  queryKey: keys.goneSandboxes,
  queryFn: async (): Promise<SandboxView[]> => {
    const page = await ask(
      api.GET('/api/v1/sandboxes', { params: { query: { limit: PAGE, phase: 'gone' } } }),
    )
    return page.items
  },
})

export const sandbox = (id: string) =>
  queryOptions({
    queryKey: keys.sandbox(id),
    queryFn: async ({ client }) => {
      const answer = await ask(api.GET('/api/v1/sandboxes/{id}', { params: { path: { id } } }))
      // The stream may have told us more while this answer was on its way.
      const held = client.getQueryData<SandboxView>(keys.sandbox(id))
      return held && held.revision > answer.revision ? held : answer
    },
  })

export const providers = queryOptions({
  queryKey: keys.providers,
  queryFn: async () => (await ask(api.GET('/api/v1/providers'))).items,
  // A provider in trouble is looked after more closely.
  refetchInterval: (query) => (query.state.data?.some((it) => it.breaker.state !== 'closed') ? 5_000 : false),
})

export const mintedKeys = queryOptions({
  queryKey: keys.keys,
  queryFn: async () => (await ask(api.GET('/api/v1/keys', { params: { query: { limit: 1000 } } }))).items,
})

export const repos = queryOptions({
  queryKey: keys.repos,
  queryFn: async ({ client }): Promise<RepoView[]> => {
    await client.ensureQueryData(sandboxes)
    return (await ask(api.GET('/api/v1/repos'))).items
  },
})

export const pushes = (repo: string) =>
  queryOptions({
    queryKey: keys.pushes(repo),
    queryFn: async () =>
      (await ask(api.GET('/api/v1/repos/{name}/pushes', { params: { path: { name: repo } } }))).items,
  })

export const templates = queryOptions({
  queryKey: keys.templates,
  queryFn: async (): Promise<TemplateView[]> => (await ask(api.GET('/api/v1/templates'))).items,
})

export const secrets = queryOptions({
  queryKey: keys.secrets,
  queryFn: async (): Promise<SecretView[]> => (await ask(api.GET('/api/v1/secrets'))).items,
  staleTime: 0,
})

export interface AuditFilter {
  outcome?: 'done' | 'denied'
  action?: string
}

/** The audit is not in the stream: it is asked for when looked at. */
export const audit = (filter: AuditFilter) =>
  infiniteQueryOptions({
    queryKey: keys.audit(filter),
    queryFn: ({ pageParam }) =>
      ask(
        api.GET('/api/v1/audit', {
          params: { query: { limit: 50, ...filter, ...(pageParam ? { cursor: pageParam } : {}) } },
        }),
      ),
    initialPageParam: '',
    getNextPageParam: (page) => page.next,
    staleTime: 0,
  })
