/** How the house is: desks, work, the lane, the providers, and the counters that should read zero. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { lazy, type ReactNode, Suspense, useMemo } from 'react'
import { say } from '../api/problem'
import { providers, sandboxes } from '../api/queries'
import { tasks } from '../task/queries'
import { useReading } from '../ui/clock'
import { cx } from '../ui/cx'
import { dollars } from '../ui/money'
import { Chip, PageHead, Skeleton, Trouble } from '../ui/Small'
import { Bars } from './Bars'
import { DeskUse } from './DeskUse'
import { useNumbers } from './history'
import { percentile, seconds, total } from './numbers'
import { work } from './work'

const Chart = lazy(() => import('./Chart'))

export default function DashboardPage() {
  const { samples, points, error } = useNumbers()
  const cards = useQuery(tasks).data
  const desks = useQuery(sandboxes).data?.items ?? []
  const places = useQuery(providers).data ?? []
  const minute = useReading((now) => Math.floor(now / 60_000))
  const told = useMemo(() => work(cards ?? [], minute * 60_000), [cards, minute])
  const by = (phase: string) => desks.filter((it) => it.phase === phase).length
  const times = useMemo(() => points.map((it) => it.at), [points])
  const hits = samples && total(samples, 'carrel_pool_hits_total')
  const misses = samples && total(samples, 'carrel_pool_misses_total')
  const share = hits !== undefined && hits + (misses ?? 0) > 0 ? hits / (hits + (misses ?? 0)) : undefined
  const left = samples && total(samples, 'carrel_forge_budget_remaining')
  const most = samples && total(samples, 'carrel_forge_budget_limit')

  return (
    <>
      <title>Dashboard · Carrel</title>
      <PageHead
        title="Dashboard"
        lead="As it is now. For longer memories there is Prometheus, at /metrics."
      />
      {error && !samples && (
        <div className="mb-5">
          <Trouble title="The server's numbers could not be read" detail={say(error)} />
        </div>
      )}
      <div className="grid grid-cols-2 gap-3 lg:grid-cols-4">
        <Figure
          name="Desks ready"
          value={String(by('ready'))}
          note={`${by('paused')} paused · ${by('failed')} failed`}
        />
        <Figure name="Tasks queued" value={String(told.queued)} note={`${told.merged} merged so far`} />
        <Figure
          name="Cost per merged pull"
          value={dollars(told.costPerMerge) ?? '$0'}
          note={`${dollars(told.spent) ?? '$0'} spent in all`}
        />
        <Figure
          name="Task, start to merge"
          value={seconds(told.medianSeconds)}
          note="the middle one of those merged"
        />
        <Figure
          name="A desk is made in"
          value={seconds(
            samples && percentile(samples, 'carrel_sandbox_step_seconds', 0.5, { step: 'create' }),
          )}
          note={`p95 ${seconds(samples && percentile(samples, 'carrel_sandbox_step_seconds', 0.95, { step: 'create' }))}`}
        />
        <Figure
          name="From the warm pool"
          value={share === undefined ? '–' : `${Math.round(share * 100)} %`}
          note={`${(samples && total(samples, 'carrel_pool_waiting')) ?? 0} waiting warm`}
        />
        <Figure
          name="GitHub budget"
          value={left === undefined ? '–' : left.toLocaleString('en-US')}
          note={most ? `of ${most.toLocaleString('en-US')} requests an hour` : 'no repository needs it'}
        />
        <Zero
          name="Orphans"
          value={samples ? (total(samples, 'carrel_orphans') ?? 0) : undefined}
          note="sandboxes that nobody owns"
        />
      </div>

      <div className="mt-5 grid gap-5 lg:grid-cols-2">
        <Box title="Merges per day">
          <Bars days={told.perDay} />
        </Box>
        <Box title="Desks">
          <Suspense fallback={<Skeleton className="h-40" />}>
            <Chart
              label="Sandboxes over the last minutes"
              times={times}
              series={[
                { label: 'ready', colour: '--lamp', values: points.map((it) => it.ready) },
                { label: 'paused', colour: '--slate', values: points.map((it) => it.paused) },
              ]}
            />
          </Suspense>
        </Box>
        <Box title="Requests per second">
          <Suspense fallback={<Skeleton className="h-40" />}>
            <Chart
              label="Requests per second over the last minutes"
              times={times}
              series={[{ label: 'requests', colour: '--brass', values: points.map((it) => it.requests) }]}
            />
          </Suspense>
        </Box>
        <Box title="Providers">
          <ul className="divide-y divide-line">
            {places.map((provider) => (
              <li key={provider.name} className="py-2">
                <p className="flex items-center gap-2">
                  <span className="font-medium">{provider.name}</span>
                  <span className="text-small text-faint">
                    {provider.isolation.join(', ') || 'not set up'}
                  </span>
                  <span className="ml-auto">
                    <Chip
                      tone={
                        provider.isolation.length === 0
                          ? 'plain'
                          : provider.breaker.state === 'closed'
                            ? 'lamp'
                            : provider.breaker.state === 'open'
                              ? 'bad'
                              : 'brass'
                      }
                    >
                      {provider.isolation.length === 0
                        ? 'absent'
                        : provider.breaker.state === 'closed'
                          ? 'answers'
                          : provider.breaker.state.replace('_', '-')}
                    </Chip>
                  </span>
                </p>
                {provider.missing.length > 0 && (
                  <p className="mt-0.5 line-clamp-2 text-small text-soft" title={provider.missing.join('\n')}>
                    {provider.missing[0]}
                  </p>
                )}
              </li>
            ))}
          </ul>
        </Box>
      </div>
      <div className="mt-5">
        <Box title="What the desks use">
          {desks.filter((it) => it.phase === 'ready').length === 0 ? (
            <p className="text-soft">
              No desk is in use.{' '}
              <Link to="/" className="text-lamp underline underline-offset-4">
                Start a task
              </Link>
            </p>
          ) : (
            <DeskUse sandboxes={desks.filter((it) => it.phase === 'ready').slice(0, 12)} />
          )}
        </Box>
      </div>
    </>
  )
}

function Figure({
  name,
  value,
  note,
  isBad = false,
}: {
  name: string
  value: string
  note: string
  isBad?: boolean
}) {
  return (
    <section className="rounded-2xl border border-line bg-card px-4 py-3.5 shadow-card">
      <h2 className="font-sans text-small font-normal tracking-normal text-soft">{name}</h2>
      <p className={cx('mt-0.5 font-serif text-display font-semibold', isBad && 'text-oxblood')}>{value}</p>
      <p className="text-small text-faint">{note}</p>
    </section>
  )
}

/** A counter that is well only at zero. */
function Zero({ name, value, note }: { name: string; value: number | undefined; note: string }) {
  return (
    <Figure
      name={name}
      value={value === undefined ? '–' : String(value)}
      note={note}
      isBad={(value ?? 0) > 0}
    />
  )
}

function Box({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="min-w-0 rounded-2xl border border-line bg-card px-5 py-4 shadow-card">
      <h2 className="mb-3 text-lead">{title}</h2>
      {children}
    </section>
  )
}
