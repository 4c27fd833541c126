/** How the house is: desks, work, the lane, the providers, and the counters that should read zero. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { lazy, type ReactNode, Suspense, useMemo } from 'react'
import { say } from '../api/problem'
import { providers, sandboxes } from '../api/queries'
import type { Phase, SandboxView } from '../api/types'
import { LOOKS } from '../sandbox/phases'
import { tasks } from '../task/queries'
import { Button } from '../ui/Button'
import { useReading } from '../ui/clock'
import { cx } from '../ui/cx'
import { bytes, dollars } from '../ui/money'
import { Chip, PageHead, Skeleton, Trouble } from '../ui/Small'
import { worded } from '../words/enums'
import { locale, rich, t } from '../words/words'
import { Bars } from './Bars'
import { DeskUse } from './DeskUse'
import { useNumbers } from './history'
import { Nodes } from './Nodes'
import { percentile, seconds, total } from './numbers'
import { work } from './work'

const Chart = lazy(() => import('./Chart'))

/** As many desks as are measured at once: each is asked every few seconds. */
const MEASURED = 12

const PHASES = Object.keys(LOOKS) as Phase[]

export default function DashboardPage() {
  const { samples, points, error } = useNumbers()
  const board = useQuery(tasks)
  const cards = board.data
  const room = useQuery(sandboxes)
  const desks = room.data?.items ?? []
  const inUse = desks.filter((it) => it.phase === 'ready')
  const places = useQuery(providers).data ?? []
  const minute = useReading((now) => Math.floor(now / 60_000))
  const told = useMemo(() => work(cards ?? [], minute * 60_000), [cards, minute])
  const by = (phase: string) => desks.filter((it) => it.phase === phase).length
  const times = useMemo(() => points.map((it) => it.at), [points])
  const hits = samples && total(samples, 'carrel_pool_hits_total')
  const misses = samples && total(samples, 'carrel_pool_misses_total')
  const share = hits !== undefined && hits + (misses ?? 0) > 0 ? hits / (hits + (misses ?? 0)) : undefined
  /** What was not measured yet is not known; what was never counted is nought. */
  const gauge = (name: string, labels?: Record<string, string>) => samples && total(samples, name, labels)
  const counter = (name: string) => samples && (total(samples, name) ?? 0)
  const created = (part: number) =>
    seconds(samples && percentile(samples, 'carrel_sandbox_step_seconds', part, { step: 'create' }))
  const left = samples && total(samples, 'carrel_forge_budget_remaining')
  const most = samples && total(samples, 'carrel_forge_budget_limit')
  const free = gauge('carrel_disk_bytes', { kind: 'free' })
  const disk = gauge('carrel_disk_bytes', { kind: 'total' })

  return (
    <>
      <title>{t('Dashboard · Carrel')}</title>
      <PageHead
        title={t('Dashboard')}
        lead={t('As it is now. For longer memories there is Prometheus, at /metrics.')}
      />
      {error && !samples && (
        <div className="mb-5">
          <Trouble title={t("The server's numbers could not be read")} detail={say(error)} />
        </div>
      )}
      {[board, room].some((it) => it.isError && !it.data) && (
        <div className="mb-5">
          <Trouble
            title={t('Not everything could be counted')}
            detail={say(board.data ? room.error : board.error)}
          >
            <Button
              onClick={() => {
                if (!board.data) void board.refetch()
                if (!room.data) void room.refetch()
              }}
            >
              {t('Try again')}
            </Button>
          </Trouble>
        </div>
      )}
      <div className="grid grid-cols-2 gap-3 lg:grid-cols-4">
        <Figure
          name={t('Desks ready')}
          value={room.data && String(by('ready'))}
          note={room.data ? otherStates(desks) : ''}
        />
        <Figure
          name={t('Tasks working')}
          value={cards && String(told.working)}
          note={
            cards
              ? t('{queued} queued · {inReview} in review', {
                  queued: told.queued,
                  inReview: told.inReview,
                })
              : ''
          }
        />
        <Figure
          name={t('Need somebody')}
          value={cards && String(told.needy)}
          note={!cards ? '' : told.needy === 0 ? t('nobody waits for you') : t('questions and failures')}
        />
        <Figure
          name={t('Cost per merged pull')}
          value={cards && (dollars(told.costPerMerge) ?? '$0')}
          note={cards ? t('{spent} spent in all', { spent: dollars(told.spent) ?? '$0' }) : ''}
        />
        <Figure
          name={t('A desk is made in')}
          value={created(0.5)}
          note={
            samples && created(0.5) === '–'
              ? t('none was made yet')
              : `p95 ${created(0.95)} · p99 ${created(0.99)}`
          }
        />
        <Figure
          name={t('Task, start to merge')}
          value={cards && seconds(told.medianSeconds)}
          note={
            cards && told.merged === 0
              ? t('nothing was merged yet')
              : cards
                ? t('p95 {slow} · p99 {slowest} · {merged} merged', {
                    slow: seconds(told.slowSeconds),
                    slowest: seconds(told.slowestSeconds),
                    merged: told.merged,
                  })
                : ''
          }
        />
        <Figure
          name={t('From the warm pool')}
          value={share === undefined ? '–' : `${Math.round(share * 100)} %`}
          note={t('{warm} waiting warm', { warm: gauge('carrel_pool_waiting') ?? 0 })}
        />
        <Figure
          name={t('GitHub budget')}
          value={left === undefined ? '–' : left.toLocaleString(locale())}
          note={
            most
              ? t('of {limit} requests an hour', { limit: most.toLocaleString(locale()) })
              : t('no repository needs it')
          }
        />
        <Figure
          name={t('Disk free')}
          value={free === undefined ? '–' : bytes(free)}
          note={
            disk === undefined
              ? t('where mirrors and layers are kept')
              : t('of {disk}', { disk: bytes(disk) })
          }
          isBad={free !== undefined && disk !== undefined && free < disk * 0.05}
        />
        <Zero
          name={t('Lost work')}
          value={gauge('carrel_lost_work')}
          note={t('saved commits that are missing')}
        />
        <Zero name={t('Orphans')} value={gauge('carrel_orphans')} note={t('sandboxes that nobody owns')} />
        <Zero
          name={t('Zombies')}
          value={counter('carrel_zombies_total')}
          note={t('found after their end, and ended')}
        />
      </div>

      <div className="mt-5 grid gap-5 lg:grid-cols-2">
        <Box title={t('Merges per day')}>
          <Bars days={told.perDay} />
        </Box>
        <Box title={t('Desks')}>
          <Suspense fallback={<Skeleton className="h-40" />}>
            <Chart
              label={t('Sandboxes over the last minutes')}
              times={times}
              series={[
                { label: t('ready'), colour: '--lamp', values: points.map((it) => it.ready) },
                { label: t('paused'), colour: '--slate', values: points.map((it) => it.paused) },
              ]}
            />
          </Suspense>
        </Box>
        <Box title={t('Requests per second')}>
          <Suspense fallback={<Skeleton className="h-40" />}>
            <Chart
              label={t('Requests per second over the last minutes')}
              times={times}
              series={[{ label: t('requests'), colour: '--brass', values: points.map((it) => it.requests) }]}
            />
          </Suspense>
        </Box>
        <Box title={t('Providers')}>
          <ul className="divide-y divide-line">
            {places.map((provider) => (
              <li key={provider.name} className="py-2">
                <p className="flex items-center gap-2">
                  <span className="font-medium">{provider.name}</span>
                  <span className="text-small text-faint">
                    {provider.isolation.join(', ') || t('not set up')}
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
                        ? t('absent')
                        : provider.breaker.state === 'closed'
                          ? t('answers')
                          : worded(provider.breaker.state)}
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
      <Nodes />
      <div className="mt-5">
        <Box title={t('What the desks use')}>
          {!room.data ? (
            <Skeleton className="h-16" />
          ) : inUse.length === 0 ? (
            <p className="text-soft">
              {rich('No desk is in use. {link}', {
                link: (
                  <Link to="/" className="text-lamp underline underline-offset-4">
                    {t('Start a task')}
                  </Link>
                ),
              })}
            </p>
          ) : (
            <>
              <DeskUse sandboxes={inUse.slice(0, MEASURED)} />
              {inUse.length > MEASURED && (
                <p className="mt-4 text-small text-soft">
                  {rich('{shown} of {all} desks are measured here. {link}', {
                    shown: MEASURED,
                    all: inUse.length,
                    link: (
                      <Link
                        to="/sandboxes"
                        search={{ group: 'ready' }}
                        className="text-lamp underline underline-offset-4"
                      >
                        {t('All of them')}
                      </Link>
                    ),
                  })}
                </p>
              )}
            </>
          )}
        </Box>
      </div>
    </>
  )
}

/** Every other state that a desk is in. The ones that are gone are not counted. */
function otherStates(desks: readonly SandboxView[]): string {
  const parts = PHASES.filter((phase) => phase !== 'ready' && phase !== 'gone').flatMap((phase) => {
    const amount = desks.filter((it) => it.phase === phase).length
    const isUsual = phase === 'paused' || phase === 'failed'
    return amount > 0 || isUsual ? [`${amount.toLocaleString(locale())} ${worded(phase)}`] : []
  })
  return parts.join(' · ')
}

function Figure({
  name,
  value,
  note,
  isBad = false,
  isGood = false,
}: {
  name: string
  /** Nothing while it is not known. */
  value: string | undefined
  note: string
  isBad?: boolean
  /** It is as it should be, and somebody looks here to see that. */
  isGood?: boolean
}) {
  return (
    <section className="rounded-2xl border border-line bg-card px-4 py-3.5 shadow-card">
      <h2 className="font-sans text-small font-normal tracking-normal text-soft">{name}</h2>
      {value === undefined ? (
        <Skeleton className="my-1.5 h-7 w-16" />
      ) : (
        <p
          className={cx(
            'mt-0.5 font-serif text-display font-semibold',
            isBad && 'text-oxblood',
            isGood && 'text-lamp',
          )}
        >
          {value}
        </p>
      )}
      <p className="min-h-5 text-small text-faint">{note}</p>
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
      isGood={value === 0}
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
