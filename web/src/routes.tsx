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
import { AgentsPage } from './agent/AgentsPage'
import { Refusal } from './api/problem'
import { me } from './api/queries'
import { AuditPage } from './audit/AuditPage'
import { BoardPage } from './board/BoardPage'
import { type Filter, readFilter } from './board/filter'
import { Frame } from './frame/Frame'
import { AdminsOnly, Broken, NotFound, Waiting } from './frame/Strangers'
import { KeysPage } from './key/KeysPage'
import { RepoPage } from './repo/RepoPage'
import { ReposPage } from './repo/ReposPage'
import { GROUPS, type Group } from './sandbox/phases'
import { SandboxesPage } from './sandbox/SandboxesPage'
import { SandboxPage } from './sandbox/SandboxPage'
import { SessionsPage } from './session/SessionsPage'
import { SecretsPage } from './settings/SecretsPage'
import { SettingsFrame } from './settings/SettingsFrame'
import { SettingsPage } from './settings/SettingsPage'
import { safeWish } from './sign-in/code'
import { SignInPage } from './sign-in/SignInPage'
import { TABS, type Tab } from './task/tabs'
import { TemplatesPage } from './template/TemplatesPage'

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
  validateSearch: (search): { tab?: Tab; since?: string } =>
    given({
      tab: TABS.find((tab) => tab === search.tab),
      since:
        typeof search.since === 'string' && /^[0-9a-f]{7,64}$/.test(search.since) ? search.since : undefined,
    }),
  component: lazyRouteComponent(() => import('./task/TaskPage')),
})

const sessions = createRoute({ getParentRoute: () => frame, path: 'sessions', component: SessionsPage })

const session = createRoute({
  getParentRoute: () => frame,
  path: 'sessions/$id',
  staticData: { isWide: true },
  component: lazyRouteComponent(() => import('./session/SessionPage')),
})

const repos = createRoute({
  getParentRoute: () => frame,
  path: 'repos',
  validateSearch: (search): { add?: true } =>
    given({ add: search.add === true ? (true as const) : undefined }),
  component: ReposPage,
})

const repo = createRoute({ getParentRoute: () => frame, path: 'repos/$name', component: RepoPage })

const agents = createRoute({ getParentRoute: () => frame, path: 'agents', component: AgentsPage })

const templates = createRoute({ getParentRoute: () => frame, path: 'templates', component: TemplatesPage })

const dashboard = createRoute({
  getParentRoute: () => frame,
  path: 'dashboard',
  component: lazyRouteComponent(() => import('./dashboard/DashboardPage')),
})

const settings = createRoute({ getParentRoute: () => frame, path: 'settings', component: SettingsPage })

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
  component: SandboxesPage,
})

const sandbox = createRoute({ getParentRoute: () => frame, path: 'sandboxes/$id', component: SandboxPage })

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
        agents,
        templates,
        sandboxes,
        sandbox,
        dashboard,
        settings,
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

/** Leaves out what is not there, so that addresses stay short. */
function given<T extends object>(search: T): { [Name in keyof T]?: NonNullable<T[Name]> } {
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined)) as T & object
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof makeRouter>
  }
}
