/** What stands around every page once someone is in: the rail, the banner, the stream. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, Outlet, useNavigate } from '@tanstack/react-router'
import { BookOpen, KeyRound, LayoutGrid, LogOut, ScrollText } from 'lucide-react'
import { api, ask } from '../api/client'
import { LiveProvider } from '../api/live'
import { me } from '../api/queries'
import type { Bearer } from '../api/types'
import { IconButton } from '../ui/Button'
import { Toaster } from '../ui/Toast'
import { Banner } from './Banner'
import { Connection } from './Connection'
import { Mark } from './Mark'
import { ThemeButton, ThemeSwitch } from './ThemeSwitch'

export function Frame() {
  const bearer = useQuery(me).data
  return (
    <LiveProvider>
      <a
        href="#page"
        className="sr-only rounded-lg bg-card px-3 py-2 shadow-float focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-60"
      >
        Skip to the page
      </a>
      <div className="md:grid md:min-h-dvh md:grid-cols-[13.5rem_minmax(0,1fr)]">
        <Rail bearer={bearer} />
        <main
          id="page"
          tabIndex={-1}
          className="mx-auto w-full max-w-6xl px-4 py-5 outline-none sm:px-6 md:px-8 md:py-8"
        >
          <Banner />
          <Outlet />
        </main>
      </div>
      <Toaster />
    </LiveProvider>
  )
}

const PLACES = [
  { to: '/sandboxes', label: 'Sandboxes', icon: LayoutGrid, isForAdmins: false },
  { to: '/keys', label: 'Keys', icon: KeyRound, isForAdmins: true },
  { to: '/audit', label: 'Audit', icon: ScrollText, isForAdmins: true },
] as const

const placeLook =
  'flex h-9 items-center gap-2.5 rounded-lg px-2.5 text-soft transition-colors duration-150 hover:bg-well hover:text-ink aria-[current=page]:bg-well aria-[current=page]:font-medium aria-[current=page]:text-ink'

function Rail({ bearer }: { bearer: Bearer | undefined }) {
  return (
    <header className="sticky top-0 z-30 flex items-center gap-1 border-b border-line bg-desk px-3 py-2 md:h-dvh md:flex-col md:items-stretch md:border-r md:border-b-0 md:px-3 md:py-6">
      <Link to="/sandboxes" className="mr-auto flex items-center gap-2.5 rounded-lg px-1.5 md:mr-0 md:mb-6">
        <Mark className="size-7" />
        <span className="font-serif text-title font-semibold tracking-tight max-[400px]:sr-only">Carrel</span>
      </Link>
      <nav aria-label="Pages" className="flex gap-0.5 md:flex-col">
        {PLACES.filter((place) => !place.isForAdmins || bearer?.role === 'admin').map(
          ({ to, label, icon: Icon }) => (
            <Link key={to} to={to} className={placeLook} title={label}>
              <Icon aria-hidden className="size-4" />
              <span className="max-md:sr-only">{label}</span>
            </Link>
          ),
        )}
        <a href="/docs" className={placeLook} title="API docs">
          <BookOpen aria-hidden className="size-4" />
          <span className="max-md:sr-only">API docs</span>
        </a>
      </nav>
      <div className="flex items-center gap-1 md:mt-auto md:flex-col md:items-stretch md:gap-4 md:px-1.5">
        <div className="flex items-center justify-between max-md:px-1">
          <Connection />
          <span className="max-md:hidden">
            <ThemeSwitch />
          </span>
        </div>
        <ThemeButton />
        <Who bearer={bearer} />
      </div>
    </header>
  )
}

function Who({ bearer }: { bearer: Bearer | undefined }) {
  const cache = useQueryClient()
  const navigate = useNavigate()
  const signOut = useMutation({
    mutationFn: () => ask(api.POST('/api/v1/sign-out')),
    onSettled: async () => {
      await navigate({ to: '/sign-in' })
      cache.clear()
    },
  })
  return (
    <div className="flex items-center gap-2 md:border-t md:border-line md:pt-4">
      <div className="min-w-0 flex-1 max-md:sr-only">
        <p className="truncate leading-tight font-medium">{bearer?.name ?? '…'}</p>
        <p className="text-small leading-tight text-faint">{bearer?.role}</p>
      </div>
      <IconButton label="Sign out" onClick={() => signOut.mutate()}>
        <LogOut />
      </IconButton>
    </div>
  )
}
