/** Every address of this page. */
import type { QueryClient } from '@tanstack/react-query'
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  Outlet,
  redirect,
} from '@tanstack/react-router'
import { Refusal } from './api/problem'
import { me } from './api/queries'
import { AuditPage } from './audit/AuditPage'
import { Frame } from './frame/Frame'
import { AdminsOnly, Broken, NotFound, Waiting } from './frame/Strangers'
import { KeysPage } from './key/KeysPage'
import { GROUPS, type Group } from './sandbox/phases'
import { SandboxesPage } from './sandbox/SandboxesPage'
import { SandboxPage } from './sandbox/SandboxPage'
import { safeWish } from './sign-in/code'
import { SignInPage } from './sign-in/SignInPage'

const root = createRootRouteWithContext<{ cache: QueryClient }>()({ component: Outlet })

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/sandboxes', replace: true })
  },
})

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
      <KeysPage />
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
      <AuditPage />
    </AdminsOnly>
  ),
})

export function makeRouter(cache: QueryClient) {
  return createRouter({
    routeTree: root.addChildren([home, signIn, frame.addChildren([sandboxes, sandbox, keys, audit])]),
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
  return to && to !== '/sandboxes' && to !== '/' ? { to } : {}
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
