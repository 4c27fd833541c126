/** The list of sandboxes, live. Its filters live in the URL; everything else comes from the cache the stream feeds. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Plus, Search } from 'lucide-react'
import { useEffect, useMemo, useRef, useState } from 'react'
import { say } from '../api/problem'
import { goneSandboxes, sandboxes } from '../api/queries'
import type { SandboxView } from '../api/types'
import { Button } from '../ui/Button'
import { cx } from '../ui/cx'
import { Input } from '../ui/Field'
import { Segments } from '../ui/Segments'
import { Command, Empty, Kbd, PageHead, Skeleton, Trouble } from '../ui/Small'
import { Switch } from '../ui/Switch'
import { useShortcuts } from '../ui/shortcuts'
import { rich, t, tn } from '../words/words'
import { EmptyDesk } from './Desk'
import { NewSandboxDialog } from './NewSandboxDialog'
import { count, type Filter, GROUP_LABELS, GROUPS, passes } from './phases'
import { ReadingRoom } from './ReadingRoom'
import { COLUMNS, SandboxRow } from './SandboxRow'

const FIRST_ROWS = 100

const route = getRouteApi('/frame/sandboxes')

export function SandboxesPage() {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const filter: Filter = { group: search.group ?? 'all', text: search.text ?? '' }
  const list = useQuery(sandboxes)
  const gone = useQuery({ ...goneSandboxes, enabled: Boolean(search.gone) })
  const [isCreating, setCreating] = useState(false)
  const field = useRef<HTMLInputElement>(null)
  const rows = useRef<HTMLDivElement>(null)

  const change = (next: Partial<typeof search>) =>
    void navigate({ search: (now) => clean({ ...now, ...next }), replace: true })

  useShortcuts({
    n: (event) => {
      event.preventDefault()
      setCreating(true)
    },
    '/': (event) => {
      event.preventDefault()
      field.current?.select()
    },
    ArrowDown: (event) => move(rows.current, 1, event),
    ArrowUp: (event) => move(rows.current, -1, event),
    Escape: () => {
      if (document.activeElement === field.current && filter.text) change({ text: undefined })
      else if (document.activeElement instanceof HTMLElement) document.activeElement.blur()
    },
  })

  const living = list.data?.items ?? []
  const counts = useMemo(() => count(living), [living])
  const shown = living.filter((sandbox) => passes(sandbox, filter))
  // One that has just left may still be fading in the list above; it is not shown twice.
  const fading = new Set(living.map((sandbox) => sandbox.id))
  const goneShown = search.gone
    ? (gone.data ?? []).filter(
        (sandbox) => !fading.has(sandbox.id) && passes(sandbox, { ...filter, group: 'all' }),
      )
    : []

  return (
    <>
      <title>{t('Sandboxes · Carrel')}</title>
      <PageHead title={t('Sandboxes')} lead={list.data ? inWords(counts) : t('Looking around the room…')}>
        <Button tone="primary" icon={<Plus />} onClick={() => setCreating(true)}>
          {t('New sandbox')}
        </Button>
      </PageHead>

      {living.length > 0 && <ReadingRoom sandboxes={living} />}

      <div className="mb-3 flex flex-wrap items-center gap-x-4 gap-y-2.5">
        <Segments
          label={t('Phase')}
          value={filter.group}
          options={GROUPS.map((group) => ({
            value: group,
            label: GROUP_LABELS[group],
            count: counts[group],
          }))}
          onChange={(group) => change({ group: group === 'all' ? undefined : group })}
        />
        <div className="relative min-w-40 flex-1 sm:max-w-72">
          <Search aria-hidden className="pointer-events-none absolute top-2.5 left-3 size-4 text-faint" />
          <Input
            ref={field}
            type="search"
            aria-label={t('Filter sandboxes')}
            placeholder={t('Filter')}
            value={filter.text}
            onChange={(event) => change({ text: event.target.value || undefined })}
            className="pr-8 pl-9"
          />
          <span
            aria-hidden
            className={cx('pointer-events-none absolute top-2 right-2.5', filter.text && 'hidden')}
          >
            <Kbd>/</Kbd>
          </span>
        </div>
        <div className="ml-auto">
          <Switch isOn={Boolean(search.gone)} onChange={(isOn) => change({ gone: isOn || undefined })}>
            {t('Show gone')}
          </Switch>
        </div>
      </div>

      <div ref={rows}>
        {list.isPending && <Waiting />}
        {list.isError && !list.data && (
          <Trouble title={t('The sandboxes could not be listed')} detail={say(list.error)}>
            <Button onClick={() => void list.refetch()}>{t('Try again')}</Button>
          </Trouble>
        )}
        {list.data && living.length === 0 && goneShown.length === 0 && (
          <NobodyHere onCreate={() => setCreating(true)} />
        )}
        {living.length > 0 && shown.length === 0 && goneShown.length === 0 && (
          <Empty title={t('Nothing matches')}>
            <p>{t('No sandbox passes this filter.')}</p>
            <div>
              <Button onClick={() => change({ group: undefined, text: undefined })}>
                {t('Clear the filter')}
              </Button>
            </div>
          </Empty>
        )}
        {shown.length > 0 && <List label={t('Sandboxes')} items={shown} areLiving />}
        {list.data?.cut && (
          <p className="mt-3 text-center text-small text-faint">
            {t('These are the newest. Older ones are listed by `carrel sandbox ls`.')}
          </p>
        )}
        {goneShown.length > 0 && (
          <section className="mt-8">
            <h2 className="mb-2 text-lead text-soft">{t('Gone')}</h2>
            <List label={t('Gone sandboxes')} items={goneShown} />
          </section>
        )}
      </div>

      <NewSandboxDialog isOpen={isCreating} onClose={() => setCreating(false)} />
    </>
  )
}

function List({
  label,
  items,
  areLiving = false,
}: {
  label: string
  items: readonly SandboxView[]
  areLiving?: boolean
}) {
  const [most, setMost] = useState(FIRST_ROWS)
  return (
    <div className="overflow-hidden rounded-2xl border border-line bg-card shadow-card">
      <div
        aria-hidden
        className={cx('hidden border-b border-line bg-paper px-4 py-2 text-small text-faint', COLUMNS)}
      >
        <span>{t('Phase')}</span>
        <span>{t('Sandbox')}</span>
        <span>{t('Made from')}</span>
        <span>{t('For')}</span>
        <span>{t('Age')}</span>
        <span>{t('Left')}</span>
        <span />
      </div>
      <ul aria-label={label} className="divide-y divide-line">
        {items.slice(0, most).map((sandbox) => (
          <SandboxRow key={sandbox.id} sandbox={sandbox} isAmongLiving={areLiving} />
        ))}
      </ul>
      {items.length > most && <Threshold key={most} onReach={() => setMost(most + FIRST_ROWS)} />}
    </div>
  )
}

/** Rows come as they are scrolled to: a thousand at once would make every change slow. */
function Threshold({ onReach }: { onReach(): void }) {
  const mark = useRef<HTMLDivElement>(null)
  const act = useRef(onReach)
  act.current = onReach
  useEffect(() => {
    const watch = new IntersectionObserver(([seen]) => seen?.isIntersecting && act.current(), {
      rootMargin: '600px',
    })
    if (mark.current) watch.observe(mark.current)
    return () => watch.disconnect()
  }, [])
  return <div ref={mark} className="h-16" />
}

function NobodyHere({ onCreate }: { onCreate(): void }) {
  return (
    <Empty title={t('Every desk is free')} art={<EmptyDesk />}>
      <p>
        {t(
          'A sandbox is a private desk for a coding agent: its own files, its own processes, no way to yours. Take one here, or from a terminal:',
        )}
      </p>
      <Command>carrel sandbox create</Command>
      <div>
        <Button tone="primary" icon={<Plus />} onClick={onCreate}>
          {t('New sandbox')}
        </Button>
        <p className="mt-2 text-small text-faint">{rich('or press {key}', { key: <Kbd>n</Kbd> })}</p>
      </div>
    </Empty>
  )
}

function Waiting() {
  return (
    <div
      role="status"
      aria-label={t('Loading')}
      className="divide-y divide-line rounded-2xl border border-line bg-card"
    >
      {['a', 'b', 'c', 'd'].map((row) => (
        <div key={row} className="flex items-center gap-6 px-4 py-4">
          <Skeleton className="h-4 w-20" />
          <Skeleton className="h-4 flex-1" />
          <Skeleton className="h-4 w-24" />
        </div>
      ))}
    </div>
  )
}

function inWords(counts: ReturnType<typeof count>): string {
  if (counts.all === 0) return t('Nobody is working here yet.')
  const parts = [
    tn(counts.all, '{n} desk taken', '{n} desks taken'),
    counts.ready > 0 && t('{n} ready', { n: counts.ready }),
    counts.starting > 0 && t('{n} starting', { n: counts.starting }),
    counts.failed > 0 && t('{n} failed', { n: counts.failed }),
  ]
  return parts.filter(Boolean).join(' · ')
}

function clean<T extends object>(search: T): T {
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined)) as T
}

/** Moves the focus from row to row. */
function move(home: HTMLElement | null, by: 1 | -1, event: KeyboardEvent): void {
  if (event.target instanceof Element && event.target.matches('input[type="radio"]')) return
  const links = [...(home?.querySelectorAll<HTMLElement>('[data-row]') ?? [])]
  const here = links.findIndex((link) => link.closest('li')?.contains(document.activeElement))
  const next = here < 0 ? links[by > 0 ? 0 : links.length - 1] : links[here + by]
  if (!next) return
  event.preventDefault()
  next.focus()
  next.scrollIntoView({ block: 'nearest' })
}
