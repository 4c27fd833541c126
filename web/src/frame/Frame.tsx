/** What stands around every page once someone is in: the rail, the banner, the stream, and the sheets that open anywhere. */
import { useQuery } from '@tanstack/react-query'
import { Link, Outlet, useMatches, useNavigate, useRouterState } from '@tanstack/react-router'
import { BookOpen, Command as CommandIcon, Ellipsis } from 'lucide-react'
import { lazy, Suspense, useCallback } from 'react'
import { LiveProvider } from '../api/live'
import { me } from '../api/queries'
import type { Bearer } from '../api/types'
import { Notices } from '../notice/Notices'
import { useHandsUp } from '../notice/useHandsUp'
import { Asker } from '../ui/Ask'
import { cx } from '../ui/cx'
import { Kbd, Skeleton } from '../ui/Small'
import { useShortcuts } from '../ui/shortcuts'
import { Toaster } from '../ui/Toast'
import { t } from '../words/words'
import { Banner } from './Banner'
import { Connection } from './Connection'
import { useChords } from './chords'
import { Help } from './Help'
import { Mark } from './Mark'
import { PLACES, SETTINGS } from './places'
import { openSheet, useSheet } from './sheets'
import { ThemeButton, ThemeSwitch } from './ThemeSwitch'
import { Who } from './Who'

const Palette = lazy(() => import('../palette/Palette').then((it) => ({ default: it.Palette })))
const NewTaskDialog = lazy(() =>
  import('../task/NewTaskDialog').then((it) => ({ default: it.NewTaskDialog })),
)

export function Frame() {
  const bearer = useQuery(me).data
  // Pages that fill the window say so; the others are a column of text.
  const isWide = useMatches({ select: (matches) => matches.some((it) => it.staticData.isWide) })
  return (
    <LiveProvider>
      <a
        href="#page"
        className="sr-only rounded-lg bg-card px-3 py-2 shadow-float focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-60"
      >
        {t('Skip to the page')}
      </a>
      <div className="flex min-h-dvh flex-col md:grid md:grid-cols-[5rem_minmax(0,1fr)] 2xl:grid-cols-[12.5rem_minmax(0,1fr)]">
        <Rail bearer={bearer} />
        <main
          id="page"
          tabIndex={-1}
          className={cx(
            'w-full min-w-0 outline-none',
            isWide
              ? 'flex flex-col overflow-hidden max-md:h-[calc(100dvh-6.1rem-env(safe-area-inset-bottom))] md:h-dvh'
              : 'mx-auto max-w-6xl px-4 py-5 max-md:pb-20 sm:px-6 md:px-8 md:py-8',
          )}
        >
          <div className={cx(isWide && 'px-4 pt-4 *:mb-0 empty:hidden md:px-6 [&:not(:has(*))]:hidden')}>
            <Banner />
          </div>
          <Outlet />
        </main>
      </div>
      <Tabs />
      <Sheets />
      <Notices />
      <Asker />
      <Toaster />
    </LiveProvider>
  )
}

const placeLook =
  'relative flex items-center rounded-lg text-soft transition-colors duration-150 hover:bg-well hover:text-ink data-[here=true]:bg-well data-[here=true]:font-medium data-[here=true]:text-ink max-2xl:flex-col max-2xl:gap-0.5 max-2xl:py-1.5 max-2xl:text-[0.6875rem] max-2xl:leading-3.5 2xl:h-9 2xl:gap-2.5 2xl:px-2.5'

/** Which place the address belongs to. A task is on the board; keys are in the settings. */
function useHere(): string {
  return useRouterState({
    select: (state) => {
      const path = state.location.pathname.replace(/^\/app(?=\/|$)/, '') || '/'
      if (path === '/' || path.startsWith('/tasks')) return '/'
      if (SETTINGS.some((it) => path.startsWith(it.to))) return '/settings'
      return PLACES.find((it) => it.to !== '/' && path.startsWith(it.to))?.to ?? ''
    },
  })
}

function Rail({ bearer }: { bearer: Bearer | undefined }) {
  const here = useHere()
  const hands = useHandsUp()
  return (
    <header className="sticky top-0 z-30 flex items-center gap-1 border-b border-line bg-desk px-3 py-1 md:h-dvh md:flex-col md:items-stretch md:overflow-y-auto md:border-r md:border-b-0 md:px-2 md:py-4 2xl:px-2.5 md:[scrollbar-width:none]">
      <Link
        to="/"
        aria-label={t('Carrel, the board')}
        className="mr-auto flex items-center gap-2.5 rounded-lg px-1.5 md:mr-0 md:mb-4 max-2xl:md:justify-center"
      >
        <Mark className="size-7" />
        <span className="font-serif text-title font-semibold tracking-tight max-2xl:md:hidden">Carrel</span>
      </Link>
      <button
        type="button"
        onClick={() => openSheet({ name: 'palette' })}
        aria-label={t('Find anything')}
        className="flex h-9 items-center gap-2 rounded-lg border border-line bg-card px-2.5 text-faint shadow-card hover:border-line-strong hover:text-ink max-2xl:justify-center md:mb-3"
      >
        <CommandIcon aria-hidden className="size-4" />
        <span className="flex-1 text-left text-small whitespace-nowrap max-2xl:hidden">
          {t('Find anything')}
        </span>
        <span className="max-2xl:hidden">
          <Kbd>^K</Kbd>
        </span>
      </button>
      <nav aria-label={t('Pages')} className="flex flex-col gap-0.5 max-md:hidden">
        {PLACES.map(({ to, label, icon: Icon }) => (
          <Link
            key={to}
            to={to}
            data-here={here === to}
            aria-current={here === to ? 'page' : undefined}
            className={placeLook}
            title={label}
          >
            <Icon aria-hidden className="size-4.5 shrink-0 2xl:size-4" />
            {label}
            {to === '/' && hands > 0 && (
              <span className="ml-auto grid h-5 min-w-5 place-items-center rounded-full bg-brass px-1 text-tiny font-semibold text-paper max-2xl:absolute max-2xl:-top-0.5 max-2xl:right-1">
                {hands}
                <span className="sr-only">{hands === 1 ? t(' task needs you') : t(' tasks need you')}</span>
              </span>
            )}
          </Link>
        ))}
        <a href="/docs" className={placeLook} title={t('API docs')}>
          <BookOpen aria-hidden className="size-4.5 shrink-0 2xl:size-4" />
          {t('API docs')}
        </a>
      </nav>
      <div className="flex items-center gap-1 md:mt-auto md:flex-col md:items-stretch md:gap-3 md:px-0.5">
        <div className="flex items-center justify-between max-md:px-1 max-2xl:md:justify-center">
          <Connection />
          <span className="max-2xl:hidden">
            <ThemeSwitch />
          </span>
        </div>
        <ThemeButton />
        <Who bearer={bearer} />
      </div>
    </header>
  )
}

const tabLook =
  'flex flex-1 flex-col items-center gap-0.5 rounded-lg py-1.5 text-tiny text-soft data-[here=true]:font-semibold data-[here=true]:text-lamp'

/** The places most wanted on a phone, under the thumb. */
function Tabs() {
  const here = useHere()
  const hands = useHandsUp()
  return (
    <nav
      aria-label={t('Pages')}
      className="fixed inset-x-0 bottom-0 z-30 flex border-t border-line bg-desk px-2 pb-[env(safe-area-inset-bottom)] md:hidden"
    >
      {PLACES.slice(0, 3).map(({ to, label, icon: Icon }) => (
        <Link
          key={to}
          to={to}
          data-here={here === to}
          aria-current={here === to ? 'page' : undefined}
          className={tabLook}
        >
          <span className="relative">
            <Icon aria-hidden className="size-5" />
            {to === '/' && hands > 0 && (
              <span className="absolute -top-1 -right-2.5 grid h-4 min-w-4 place-items-center rounded-full bg-brass px-0.5 text-[0.625rem] font-semibold text-paper">
                {hands}
              </span>
            )}
          </span>
          {label}
        </Link>
      ))}
      <button type="button" className={tabLook} onClick={() => openSheet({ name: 'palette' })}>
        <Ellipsis aria-hidden className="size-5" />
        {t('More')}
      </button>
    </nav>
  )
}

/** Dialogs that any page may open, each loaded when first wanted. */
function Sheets() {
  const sheet = useSheet()
  const navigate = useNavigate()
  useChords(useCallback((to) => void navigate({ to }), [navigate]))
  useShortcuts({
    '?': () => openSheet({ name: 'help' }),
    c: (event) => {
      event.preventDefault()
      openSheet({ name: 'task' })
    },
  })

  const close = () => openSheet(undefined)
  return (
    <Suspense fallback={sheet && sheet.name !== 'help' ? <Coming /> : null}>
      <Help isOpen={sheet?.name === 'help'} onClose={close} />
      {sheet?.name === 'palette' && <Palette onClose={close} />}
      {sheet?.name === 'task' && <NewTaskDialog draft={sheet.draft ?? {}} onClose={close} />}
    </Suspense>
  )
}

/** A dialog whose code is still on its way. */
function Coming() {
  return (
    <div
      role="status"
      aria-label={t('Loading')}
      className="fixed inset-x-0 top-[10vh] z-50 mx-auto w-full max-w-xl animate-appear space-y-4 rounded-2xl border border-line bg-paper p-6 shadow-float"
    >
      <Skeleton className="h-7 w-1/3" />
      <Skeleton className="h-28" />
    </div>
  )
}

declare module '@tanstack/react-router' {
  interface StaticDataRouteOption {
    isWide?: boolean
  }
}
