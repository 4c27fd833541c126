/** The board: what every agent is doing, what needs a person, and what will conflict. Its filters live in the URL; the rest is the cache. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useCallback, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import { say } from '../api/problem'
import { repos } from '../api/queries'
import { openSheet } from '../frame/sheets'
import { tasks } from '../task/queries'
import type { Task } from '../task/types'
import { Button } from '../ui/Button'
import { Skeleton, Trouble } from '../ui/Small'
import { useShortcuts } from '../ui/shortcuts'
import { Welcome } from '../welcome/Welcome'
import { t, tn } from '../words/words'
import { Bulk } from './Bulk'
import { Columns } from './Columns'
import { COLUMNS, count, deal, neighbour } from './columns'
import { Filters } from './Filters'
import { type Filter, isOpen, passes } from './filter'
import { useMoves } from './moves'

const route = getRouteApi('/frame/')

export function BoardPage() {
  const filter = route.useSearch()
  const navigate = route.useNavigate()
  const list = useQuery(tasks)
  const shelf = useQuery(repos)
  const field = useRef<HTMLInputElement>(null)
  const [current, setCurrent] = useState<number>()
  const [chosen, setChosen] = useState<ReadonlySet<number>>(new Set())
  const { attempt } = useMoves()

  const all = list.data
  const wanted = useDeferredValue(filter)
  const shown = useMemo(() => (all ?? []).filter((task) => passes(task, wanted)), [all, wanted])
  const dealt = useRef<ReturnType<typeof deal>>(undefined)
  const columns = useMemo(() => deal(shown, dealt.current), [shown])
  useEffect(() => {
    dealt.current = columns
  }, [columns])

  const change = (next: Filter) => void navigate({ search: next, replace: true })
  const toggle = useCallback((id: number) => {
    setChosen((now) => {
      const next = new Set(now)
      if (!next.delete(id)) next.add(id)
      return next
    })
  }, [])
  const now = current === undefined ? undefined : shown.find((task) => task.id === current)

  useShortcuts({
    n: (event) => {
      event.preventDefault()
      openSheet({ name: 'task', draft: filter.repo ? { repo: filter.repo } : {} })
    },
    '/': (event) => {
      event.preventDefault()
      field.current?.select()
    },
    x: () => now && toggle(now.id),
    s: () => now && void attempt(now, now.phase === 'backlog' ? 'start' : 'retry'),
    ArrowDown: (event) => step(event, 0, 1),
    ArrowUp: (event) => step(event, 0, -1),
    ArrowRight: (event) => step(event, 1, 0),
    ArrowLeft: (event) => step(event, -1, 0),
    Escape: () => {
      if (document.activeElement === field.current && filter.text) change({ ...filter, text: undefined })
      else if (chosen.size > 0) setChosen(new Set())
      else {
        setCurrent(undefined)
        if (document.activeElement instanceof HTMLElement) document.activeElement.blur()
      }
    },
  })

  const step = (event: KeyboardEvent, across: number, down: number) => {
    if (event.target instanceof Element && event.target.matches('input[type="radio"]')) return
    const next = neighbour(columns, now, across, down)
    if (!next) return
    event.preventDefault()
    setCurrent(next.id)
  }

  if (list.isError && !all) {
    return (
      <div className="mx-auto w-full max-w-xl px-6 py-16">
        <title>{t('Board · Carrel')}</title>
        <Trouble title={t('The tasks could not be listed')} detail={say(list.error)}>
          <Button onClick={() => void list.refetch()}>{t('Try again')}</Button>
        </Trouble>
      </div>
    )
  }
  // Nothing was ever asked for here: the first steps instead of six empty columns.
  if (all && all.length === 0 && shelf.data) return <Welcome repos={shelf.data} />

  return (
    <>
      <title>{t('Board · Carrel')}</title>
      <header className="flex shrink-0 items-center gap-x-4 gap-y-2.5 px-4 max-lg:flex-wrap pt-4 pb-3 md:px-6 md:pt-5">
        <div className="mr-auto flex min-w-0 items-baseline gap-3">
          <h1 className="text-title">{t('Board')}</h1>
          <p className="truncate text-small text-soft max-sm:sr-only">
            {all ? inWords(all) : t('Looking around…')}
          </p>
        </div>
        <Filters ref={field} tasks={all ?? []} filter={filter} onChange={change} />
        <Button
          tone="primary"
          icon={<Plus />}
          onClick={() => openSheet({ name: 'task', draft: filter.repo ? { repo: filter.repo } : {} })}
        >
          {t('New task')}
        </Button>
      </header>
      {all ? (
        <Columns
          columns={columns}
          current={current}
          chosen={chosen}
          isFiltered={!isOpen(filter)}
          onCurrent={setCurrent}
          onChoose={toggle}
          onClear={() => change({})}
        />
      ) : (
        <Waiting />
      )}
      {chosen.size > 0 && (
        <Bulk tasks={(all ?? []).filter((task) => chosen.has(task.id))} onChoose={setChosen} />
      )}
    </>
  )
}

function inWords(tasks: readonly Task[]): string {
  const counts = count(tasks)
  const parts = [
    counts.needs_you > 0 && tn(counts.needs_you, '{n} needs you', '{n} need you'),
    counts.working > 0 && t('{n} working', { n: counts.working }),
    counts.queued > 0 && t('{n} queued', { n: counts.queued }),
    counts.in_review > 0 && t('{n} in review', { n: counts.in_review }),
  ].filter(Boolean)
  return parts.length > 0 ? parts.join(' · ') : t('Nobody is working.')
}

function Waiting() {
  return (
    <div
      role="status"
      aria-label={t('Loading')}
      className="grid flex-1 auto-cols-[minmax(16.5rem,1fr)] grid-flow-col gap-3 overflow-hidden px-4 pb-4 md:px-6"
    >
      {COLUMNS.map((column, at) => (
        <div key={column} className="space-y-2 rounded-xl bg-well/40 p-2">
          <Skeleton className="m-1 h-4 w-24" />
          {Array.from({ length: 1 + ((at * 2) % 3) }, (_, card) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: they are all the same
            <Skeleton key={card} className="h-24 rounded-xl bg-card" />
          ))}
        </div>
      ))}
    </div>
  )
}
