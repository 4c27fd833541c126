/** Everything about one sandbox: its life, its facts, its journal, and what can be asked of it. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { ArrowLeft, Clock, Pause, Play, Trash2 } from 'lucide-react'
import { DropdownMenu } from 'radix-ui'
import { lazy, type ReactNode, Suspense } from 'react'
import { Refusal, say } from '../api/problem'
import { providers, sandbox as sandboxQuery } from '../api/queries'
import type { Breaker, SandboxView } from '../api/types'
import { deskParts } from '../desk/deskParts'
import { EditorButton } from '../desk/EditorButton'
import { CHECKOUT } from '../desk/parts'
import { Button } from '../ui/Button'
import { Copy } from '../ui/Copy'
import { Ago, Until } from '../ui/Moments'
import { menuItem, menuLook } from '../ui/menu'
import { Parts } from '../ui/Parts'
import { Chip, Empty, Skeleton, Trouble } from '../ui/Small'
import { useShortcuts } from '../ui/shortcuts'
import { duration } from '../ui/time'
import { worded } from '../words/enums'
import { rich, t } from '../words/words'
import { DestroyButton } from './DestroyButton'
import type { DeskTab } from './deskTab'
import { type Journal, useJournal } from './journal'
import { Phase } from './Phase'
import { PhaseTrack } from './PhaseTrack'
import { LOOKS, megabytes, possible } from './phases'
import { useAbilities, useVerbs } from './verbs'

const UsageCharts = lazy(() => import('../desk/UsageCharts'))
const route = getRouteApi('/frame/sandboxes/$id')

export function SandboxPage() {
  const { id } = route.useParams()
  const navigate = route.useNavigate()
  const { data, error, isPending, refetch } = useQuery(sandboxQuery(id))
  useShortcuts({ Escape: () => void navigate({ to: '/sandboxes' }) })

  // A name that no sandbox could have is refused before anyone looks for it.
  if (error instanceof Refusal && [400, 404, 422].includes(error.status) && !data) {
    return (
      <Empty title={t('No such sandbox')}>
        <title>{t('No such sandbox · Carrel')}</title>
        <p>
          {rich('There is no sandbox {id}, or it is not yours to see.', {
            id: <span className="font-mono wrap-anywhere">{id}</span>,
          })}
        </p>
        <div>
          <Link to="/sandboxes" className="text-lamp underline underline-offset-4">
            {t('All sandboxes')}
          </Link>
        </div>
      </Empty>
    )
  }
  if (error && !data) {
    return (
      <Trouble title={t('The sandbox could not be read')} detail={say(error)}>
        <Button onClick={() => void refetch()}>{t('Try again')}</Button>
      </Trouble>
    )
  }
  if (isPending) {
    return (
      <div role="status" aria-label={t('Loading')} className="space-y-5">
        <Skeleton className="h-9 w-72" />
        <Skeleton className="h-24 w-full" />
        <Skeleton className="h-64 w-full" />
      </div>
    )
  }
  return <Loaded sandbox={data} />
}

function Loaded({ sandbox }: { sandbox: SandboxView }) {
  const { tab, at } = route.useSearch()
  const folder = at ?? (sandbox.task_id == null ? undefined : CHECKOUT)
  const navigate = route.useNavigate()
  const journal = useJournal(sandbox.id)
  const provider = useQuery(providers).data?.find((it) => it.name === sandbox.provider)
  return (
    <div className="space-y-5">
      <title>{t('{word} · {id} · Carrel', { word: LOOKS[sandbox.phase].word, id: sandbox.id })}</title>
      <header className="flex flex-wrap items-end justify-between gap-x-6 gap-y-3">
        <div className="min-w-0">
          <Link
            to="/sandboxes"
            className="mb-1 inline-flex items-center gap-1 text-small text-faint hover:text-ink"
          >
            <ArrowLeft aria-hidden className="size-3.5" /> {t('Sandboxes')}
          </Link>
          <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <h1 className="font-mono text-title font-medium tracking-normal wrap-anywhere">{sandbox.id}</h1>
            <Copy text={sandbox.id} label={t('Copy id')} className="-ml-2" />
            <Phase phase={sandbox.phase} isBoxed />
            {sandbox.want !== sandbox.phase && sandbox.phase !== 'failed' && (
              <span className="text-small text-faint">
                {t('wanted {want}', { want: worded(sandbox.want) })}
              </span>
            )}
          </div>
          {sandbox.note && (
            <p className="mt-1 font-serif text-lead italic text-soft wrap-anywhere">{sandbox.note}</p>
          )}
        </div>
        <Verbs sandbox={sandbox} folder={folder ?? '/home'} />
      </header>

      <section
        aria-label={t('Life')}
        className="overflow-x-auto rounded-2xl border border-line bg-card px-2 pt-5 pb-3 shadow-card"
      >
        <PhaseTrack sandbox={sandbox} lines={journal.lines} />
      </section>

      <Parts<DeskTab>
        isFramed
        label={t('Desk')}
        value={tab ?? 'overview'}
        onChange={(next) =>
          void navigate({
            search: { ...(next === 'overview' ? {} : { tab: next }), ...(at ? { at } : {}) },
            replace: true,
          })
        }
        parts={[
          {
            name: 'overview',
            word: t('Overview'),
            isOpen: true,
            panel: (
              <>
                {sandbox.phase === 'ready' && (
                  <Suspense fallback={<Skeleton className="h-52 rounded-2xl" />}>
                    <UsageCharts sandbox={sandbox} />
                  </Suspense>
                )}
                <div className="grid items-start gap-5 lg:grid-cols-[minmax(0,5fr)_minmax(0,4fr)]">
                  <Facts sandbox={sandbox} breaker={provider?.breaker} />
                  <JournalCard journal={journal} />
                </div>
              </>
            ),
          },
          ...deskParts({
            sandbox,
            sandboxId: sandbox.id,
            folder,
            repo: sandbox.repo,
            taskId: sandbox.task_id ?? undefined,
            absent: t('The sandbox is {phase}.', { phase: worded(sandbox.phase) }),
          }),
        ]}
      />
    </div>
  )
}

const LIFETIMES = [900, 3600, 4 * 3600, 24 * 3600]

function Verbs({ sandbox, folder }: { sandbox: SandboxView; folder: string }) {
  const can = possible(sandbox, useAbilities(sandbox.provider))
  const verbs = useVerbs(sandbox)
  return (
    <div className="flex flex-wrap gap-2">
      {sandbox.phase === 'ready' && <EditorButton sandboxId={sandbox.id} folder={folder} />}
      {can.pause && (
        <Button icon={<Pause />} onClick={() => verbs.pause.mutate()}>
          {t('Pause')}
        </Button>
      )}
      {can.resume && (
        <Button tone="primary" icon={<Play />} onClick={() => verbs.resume.mutate()}>
          {t('Resume')}
        </Button>
      )}
      {can.extend && (
        <DropdownMenu.Root modal={false}>
          <DropdownMenu.Trigger asChild>
            <Button icon={<Clock />}>{t('Extend')}</Button>
          </DropdownMenu.Trigger>
          <DropdownMenu.Portal>
            <DropdownMenu.Content align="end" sideOffset={6} className={menuLook}>
              <DropdownMenu.Label className="px-2.5 py-1 text-small text-faint">
                {t('Ends, counted from now, in')}
              </DropdownMenu.Label>
              {LIFETIMES.map((seconds) => (
                <DropdownMenu.Item
                  key={seconds}
                  className={menuItem}
                  onSelect={() => verbs.extend.mutate(seconds)}
                >
                  {duration(seconds)}
                </DropdownMenu.Item>
              ))}
            </DropdownMenu.Content>
          </DropdownMenu.Portal>
        </DropdownMenu.Root>
      )}
      {can.destroy && (
        <DestroyButton sandbox={sandbox} onConfirm={() => verbs.destroy.mutate()}>
          <Button icon={<Trash2 />} className="hover:border-oxblood hover:text-oxblood">
            {t('Destroy')}
          </Button>
        </DestroyButton>
      )}
    </div>
  )
}

function Facts({ sandbox, breaker }: { sandbox: SandboxView; breaker: Breaker | undefined }) {
  const metadata = Object.entries(sandbox.metadata)
  const hosts = sandbox.network.allow ?? []
  return (
    <section aria-label={t('Facts')} className="rounded-2xl border border-line bg-card px-5 py-2 shadow-card">
      <dl className="divide-y divide-line">
        <Fact name={t('Made from')}>
          {t('{template} at {provider}', { template: sandbox.template, provider: sandbox.provider })}
        </Fact>
        <Fact name={t('Isolation')}>{sandbox.isolation}</Fact>
        {breaker && (
          <Fact name={t('Breaker')}>
            <Chip tone={BREAKERS[breaker.state].tone}>{BREAKERS[breaker.state].word}</Chip>{' '}
            <span className="text-small text-faint">{BREAKERS[breaker.state].meaning}</span>
            {breaker.state !== 'closed' && breaker.last_error && (
              <span className="mt-1 block font-mono text-small text-soft">{breaker.last_error}</span>
            )}
          </Fact>
        )}
        {sandbox.task_id != null && (
          <Fact name={t('Task')}>
            <Link
              to="/tasks/$id"
              params={{ id: String(sandbox.task_id) }}
              className="text-lamp underline underline-offset-4"
            >
              {`task-${sandbox.task_id}`}
            </Link>
          </Fact>
        )}
        {sandbox.agent_id != null && <Fact name={t('Agent')}>{sandbox.agent_id}</Fact>}
        <Fact name={t('Limits')}>
          {t('{cpus} cpu · {megabytes} memory · {megabytes2} disk · {pids} processes', {
            cpus: sandbox.limits.cpus,
            megabytes: megabytes(sandbox.limits.memory_mb),
            megabytes2: megabytes(sandbox.limits.disk_mb),
            pids: sandbox.limits.pids,
          })}
        </Fact>
        <Fact name={t('Network')}>
          {NETWORK[sandbox.network.mode]}
          {hosts.length > 0 && (
            <span className="mt-1 flex flex-wrap gap-1">
              {hosts.map((host) => (
                <Chip key={host}>{host}</Chip>
              ))}
            </span>
          )}
        </Fact>
        <Fact name={t('Lifetime')}>
          {t('{duration}, then it {what}', {
            duration: duration(sandbox.timeout_s),
            what: sandbox.auto_pause ? t('pauses') : t('ends'),
          })}
          {sandbox.expires_at && sandbox.phase !== 'gone' && (
            <> · {rich('{until} left', { until: <Until at={sandbox.expires_at} /> })}</>
          )}
        </Fact>
        {sandbox.next_attempt_at && (
          <Fact name={t('Next attempt')}>
            {rich('in {until}, the {ordinal}', {
              until: <Until at={sandbox.next_attempt_at} />,
              ordinal: ordinal(sandbox.attempts + 1),
            })}
          </Fact>
        )}
        {sandbox.env_names.length > 0 && (
          <Fact name={t('Environment')}>
            <span className="flex flex-wrap gap-1">
              {sandbox.env_names.map((name) => (
                <Chip key={name}>{name}</Chip>
              ))}
            </span>
          </Fact>
        )}
        {metadata.length > 0 && (
          <Fact name={t('Metadata')}>
            <span className="flex flex-wrap gap-1">
              {metadata.map(([name, value]) => (
                <Chip key={name}>
                  {name}={value}
                </Chip>
              ))}
            </span>
          </Fact>
        )}
        <Fact name={t('Created')}>
          {rich('{ago} by {created_by}', {
            ago: <Ago at={sandbox.created_at} />,
            created_by: <span className="font-mono text-small">{sandbox.created_by}</span>,
          })}
        </Fact>
        {sandbox.ended && (
          <Fact name={t('Ended')}>
            {rich('{ago} by {by}', {
              ago: <Ago at={sandbox.ended.at} />,
              by: <span className="font-mono text-small">{sandbox.ended.by}</span>,
            })}
            : {sandbox.ended.why}
          </Fact>
        )}
        <Fact name={t('Revision')}>
          {t('{revision}, status {status}', { revision: sandbox.revision, status: worded(sandbox.status) })}
        </Fact>
      </dl>
    </section>
  )
}

/** The banner above every page tells the rest of a breaker that is not closed. */
const BREAKERS = {
  closed: { word: t('closed'), tone: 'lamp', meaning: t('the provider answers') },
  half_open: { word: t('half-open'), tone: 'brass', meaning: t('one try decides') },
  open: { word: t('open'), tone: 'bad', meaning: t('the provider is left alone for now') },
} as const

const NETWORK: Record<SandboxView['network']['mode'], string> = {
  none: t('None'),
  allow: t('Only these hosts'),
  open: t('Open'),
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="grid grid-cols-[7rem_minmax(0,1fr)] items-baseline gap-3 py-2.5">
      <dt className="text-faint">{name}</dt>
      <dd className="wrap-anywhere">{children}</dd>
    </div>
  )
}

function JournalCard({ journal }: { journal: Journal }) {
  return (
    <section
      aria-labelledby="journal"
      className="rounded-2xl border border-line bg-card px-5 py-4 shadow-card"
    >
      <h2 id="journal" className="mb-3 text-lead">
        {t('Journal')}
      </h2>
      {journal.lines.length === 0 && (
        <p className="text-soft">
          {journal.isCut ? t('Its entries are too old to be told.') : t('Reading…')}
        </p>
      )}
      <ol className="relative space-y-3.5 before:absolute before:top-2 before:bottom-2 before:left-[3px] before:w-px before:bg-line">
        {journal.lines.toReversed().map((line) => (
          <li key={line.cursor} className="relative animate-appear pl-5">
            <span
              aria-hidden
              className={`absolute top-1.5 left-0 size-[7px] rounded-full ring-3 ring-card ${LOOKS[line.sandbox.phase].dot}`}
            />
            <p className="flex items-baseline justify-between gap-3">
              <span className="font-medium">{line.what}</span>
              <span className="text-small whitespace-nowrap text-faint">
                <Ago at={line.at} />
              </span>
            </p>
            {line.why && <p className="font-serif text-small italic text-soft wrap-anywhere">{line.why}</p>}
          </li>
        ))}
      </ol>
      {journal.isCut && journal.lines.length > 0 && (
        <p className="mt-3 text-small text-faint">{t('What came before is no longer kept.')}</p>
      )}
    </section>
  )
}

function ordinal(number: number): string {
  const tail = number % 100
  const ending = tail >= 11 && tail <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][number % 10] ?? 'th')
  return `${number}${ending}`
}
