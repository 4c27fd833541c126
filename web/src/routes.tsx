/** Every address of this page. */
import type { QueryClient } from '@tanstack/react-query'
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router'
import { Refusal } from './api/problem'
import { me } from './api/queries'
import { BoardPage } from './board/BoardPage'
import { type Filter, readFilter } from './board/filter'
import { Frame } from './frame/Frame'
import { AdminsOnly, Broken, NotFound, Waiting } from './frame/Strangers'
import { DESK_TABS, type DeskTab } from './sandbox/deskTab'
import { GROUPS, type Group } from './sandbox/phases'
import { SESSION_TABS, type SessionTab } from './session/tabs'
import { SettingsFrame } from './settings/SettingsFrame'
import { safeWish } from './sign-in/code'
import { SignInPage } from './sign-in/SignInPage'
import { TABS, type Tab } from './task/tabs'

const KeysPage = lazyRouteComponent(() => import('./key/KeysPage'), 'KeysPage')
const MembersPage = lazyRouteComponent(() => import('./member/MembersPage'), 'MembersPage')
const AuditPage = lazyRouteComponent(() => import('./audit/AuditPage'), 'AuditPage')
const SecretsPage = lazyRouteComponent(() => import('./settings/SecretsPage'), 'SecretsPage')

const root = createRootRouteWithContext<{ cache: QueryClient }>()({ component: Outlet })

const signIn = createRoute({
  getParentRoute: () => root,
  path: 'sign-in',
  validateSearch: (search): { to?: string } => given({ to: safeWish(search.to) }),
  component: SignInPage,
})

/** Everything behind the door. */
const frame = createRoute({
  getParentRoute: () => root,
  id: 'frame',
  beforeLoad: async ({ context, location }) => {
    try {
      await context.cache.ensureQueryData(me)
    } catch (error) {
      if (!(error instanceof Refusal) || error.status !== 401) throw error
      throw redirect({ to: '/sign-in', search: wish(location.href), replace: true })
    }
  },
  component: Frame,
})

const board = createRoute({
  getParentRoute: () => frame,
  path: '/',
  staticData: { isWide: true },
  validateSearch: (search): Filter => readFilter(search),
  component: BoardPage,
})

const task = createRoute({
  getParentRoute: () => frame,
  path: 'tasks/$id',
  staticData: { isWide: true },
  validateSearch: (search): { tab?: Tab; since?: number } =>
    given({
      tab: TABS.find((tab) => tab === search.tab),
      since: wholeNumber(search.since),
    }),
  component: lazyRouteComponent(() => import('./task/TaskPage')),
})

const sessions = createRoute({
  getParentRoute: () => frame,
  path: 'sessions',
  validateSearch: (search): { closed?: true; text?: string } =>
    given({
      closed: search.closed === true ? (true as const) : undefined,
      text: search.text === undefined || search.text === '' ? undefined : String(search.text),
    }),
  component: lazyRouteComponent(() => import('./session/SessionsPage'), 'SessionsPage'),
})

const session = createRoute({
  getParentRoute: () => frame,
  path: 'sessions/$id',
  staticData: { isWide: true },
  validateSearch: (search): { tab?: SessionTab; since?: number } =>
    given({ tab: SESSION_TABS.find((tab) => tab === search.tab), since: wholeNumber(search.since) }),
  component: lazyRouteComponent(() => import('./session/SessionPage')),
})

const repos = createRoute({
  getParentRoute: () => frame,
  path: 'repos',
  validateSearch: (search): { add?: true } =>
    given({ add: search.add === true ? (true as const) : undefined }),
  component: lazyRouteComponent(() => import('./repo/ReposPage'), 'ReposPage'),
})

const repo = createRoute({
  getParentRoute: () => frame,
  path: 'repos/$name',
  component: lazyRouteComponent(() => import('./repo/RepoPage'), 'RepoPage'),
})

const pull = createRoute({
  getParentRoute: () => frame,
  path: 'pulls/$repo/$number',
  staticData: { isWide: true },
  component: lazyRouteComponent(() => import('./pull/PullPage'), 'PullPage'),
})

const agents = createRoute({
  getParentRoute: () => frame,
  path: 'agents',
  component: lazyRouteComponent(() => import('./agent/AgentsPage'), 'AgentsPage'),
})

const templates = createRoute({
  getParentRoute: () => frame,
  path: 'templates',
  component: lazyRouteComponent(() => import('./template/TemplatesPage'), 'TemplatesPage'),
})

const dashboard = createRoute({
  getParentRoute: () => frame,
  path: 'dashboard',
  component: lazyRouteComponent(() => import('./dashboard/DashboardPage')),
})

const settings = createRoute({
  getParentRoute: () => frame,
  path: 'settings',
  component: lazyRouteComponent(() => import('./settings/SettingsPage'), 'SettingsPage'),
})

const secrets = createRoute({
  getParentRoute: () => frame,
  path: 'secrets',
  component: () => (
    <AdminsOnly>
      <SecretsPage />
    </AdminsOnly>
  ),
})

const sandboxes = createRoute({
  getParentRoute: () => frame,
  path: 'sandboxes',
  validateSearch: (search): { group?: Group; text?: string; gone?: true } =>
    given({
      group: GROUPS.find((group) => group === search.group && group !== 'all'),
      text: search.text === undefined || search.text === '' ? undefined : String(search.text),
      gone: search.gone === true ? true : undefined,
    }),
  component: lazyRouteComponent(() => import('./sandbox/SandboxesPage'), 'SandboxesPage'),
})

const sandbox = createRoute({
  getParentRoute: () => frame,
  path: 'sandboxes/$id',
  validateSearch: (search): { tab?: DeskTab; at?: string } =>
    given({
      tab: DESK_TABS.find((tab) => tab === search.tab && tab !== 'overview'),
      at: typeof search.at === 'string' && search.at.startsWith('/') ? search.at : undefined,
    }),
  component: lazyRouteComponent(() => import('./sandbox/SandboxPage'), 'SandboxPage'),
})

const keys = createRoute({
  getParentRoute: () => frame,
  path: 'keys',
  component: () => (
    <AdminsOnly>
      <SettingsFrame>
        <KeysPage />
      </SettingsFrame>
    </AdminsOnly>
  ),
})

const members = createRoute({
  getParentRoute: () => frame,
  path: 'members',
  component: () => (
    <AdminsOnly>
      <SettingsFrame>
        <MembersPage />
      </SettingsFrame>
    </AdminsOnly>
  ),
})

const audit = createRoute({
  getParentRoute: () => frame,
  path: 'audit',
  validateSearch: (search): { outcome?: 'done' | 'denied'; action?: string } =>
    given({
      outcome: search.outcome === 'done' || search.outcome === 'denied' ? search.outcome : undefined,
      action: typeof search.action === 'string' && search.action ? search.action : undefined,
    }),
  component: () => (
    <AdminsOnly>
      <SettingsFrame>
        <AuditPage />
      </SettingsFrame>
    </AdminsOnly>
  ),
})

export function makeRouter(cache: QueryClient) {
  return createRouter({
    routeTree: root.addChildren([
      signIn,
      frame.addChildren([
        board,
        task,
        sessions,
        session,
        repos,
        repo,
        pull,
        agents,
        templates,
        sandboxes,
        sandbox,
        dashboard,
        settings,
        members,
        keys,
        secrets,
        audit,
      ]),
    ]),
    basepath: '/app',
    context: { cache },
    scrollRestoration: true,
    defaultNotFoundComponent: NotFound,
    defaultErrorComponent: Broken,
    defaultPendingComponent: Waiting,
  })
}

/** Where to go after signing in, when that is not where everyone goes. */
export function wish(href: string): { to?: string } {
  const to = safeWish(href)
  return to && to !== '/' ? { to } : {}
}

const wholeNumber = (value: unknown) =>
  typeof value === 'number' && Number.isInteger(value) ? value : undefined

/** Leaves out what is not there, so that addresses stay short. */
function given<T extends object>(search: T): { [Name in keyof T]?: NonNullable<T[Name]> } {
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined)) as T & object
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof makeRouter>
  }
}
