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
import type { DeskTab } from './deskTab'
import { DestroyButton } from './DestroyButton'
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
      <Empty title="No such sandbox">
        <title>No such sandbox · Carrel</title>
        <p>
          There is no sandbox <span className="font-mono wrap-anywhere">{id}</span>, or it is not yours to
          see.
        </p>
        <div>
          <Link to="/sandboxes" className="text-lamp underline underline-offset-4">
            All sandboxes
          </Link>
        </div>
      </Empty>
    )
  }
  if (error && !data) {
    return (
      <Trouble title="The sandbox could not be read" detail={say(error)}>
        <Button onClick={() => void refetch()}>Try again</Button>
      </Trouble>
    )
  }
  if (isPending) {
    return (
      <div role="status" aria-label="Loading" className="space-y-5">
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
      <title>{`${LOOKS[sandbox.phase].word} · ${sandbox.id} · Carrel`}</title>
      <header className="flex flex-wrap items-end justify-between gap-x-6 gap-y-3">
        <div className="min-w-0">
          <Link
            to="/sandboxes"
            className="mb-1 inline-flex items-center gap-1 text-small text-faint hover:text-ink"
          >
            <ArrowLeft aria-hidden className="size-3.5" /> Sandboxes
          </Link>
          <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <h1 className="font-mono text-title font-medium tracking-normal wrap-anywhere">{sandbox.id}</h1>
            <Copy text={sandbox.id} label="Copy id" className="-ml-2" />
            <Phase phase={sandbox.phase} isBoxed />
            {sandbox.want !== sandbox.phase && sandbox.phase !== 'failed' && (
              <span className="text-small text-faint">wanted {sandbox.want}</span>
            )}
          </div>
          {sandbox.note && (
            <p className="mt-1 font-serif text-lead italic text-soft wrap-anywhere">{sandbox.note}</p>
          )}
        </div>
        <Verbs sandbox={sandbox} />
      </header>

      <section
        aria-label="Life"
        className="overflow-x-auto rounded-2xl border border-line bg-card px-2 pt-5 pb-3 shadow-card"
      >
        <PhaseTrack sandbox={sandbox} lines={journal.lines} />
      </section>

      <Parts<DeskTab>
        isFramed
        label="Desk"
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
            word: 'Overview',
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
            absent: `The sandbox is ${sandbox.phase}.`,
          }),
        ]}
      />
    </div>
  )
}

const LIFETIMES = [900, 3600, 4 * 3600, 24 * 3600]

function Verbs({ sandbox }: { sandbox: SandboxView }) {
  const can = possible(sandbox, useAbilities(sandbox.provider))
  const verbs = useVerbs(sandbox)
  return (
    <div className="flex flex-wrap gap-2">
      {sandbox.phase === 'ready' && <EditorButton sandboxId={sandbox.id} folder={sandbox.task_id == null ? '/home' : CHECKOUT} />}
      {can.pause && (
        <Button icon={<Pause />} onClick={() => verbs.pause.mutate()}>
          Pause
        </Button>
      )}
      {can.resume && (
        <Button tone="primary" icon={<Play />} onClick={() => verbs.resume.mutate()}>
          Resume
        </Button>
      )}
      {can.extend && (
        <DropdownMenu.Root>
          <DropdownMenu.Trigger asChild>
            <Button icon={<Clock />}>Extend</Button>
          </DropdownMenu.Trigger>
          <DropdownMenu.Portal>
            <DropdownMenu.Content align="end" sideOffset={6} className={menuLook}>
              <DropdownMenu.Label className="px-2.5 py-1 text-small text-faint">
                Ends, counted from now, in
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
            Destroy
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
    <section aria-label="Facts" className="rounded-2xl border border-line bg-card px-5 py-2 shadow-card">
      <dl className="divide-y divide-line">
        <Fact name="Made from">
          {sandbox.template} at {sandbox.provider}
        </Fact>
        <Fact name="Isolation">{sandbox.isolation}</Fact>
        {breaker && (
          <Fact name="Breaker">
            <Chip tone={BREAKERS[breaker.state].tone}>{BREAKERS[breaker.state].word}</Chip>{' '}
            <span className="text-small text-faint">{BREAKERS[breaker.state].meaning}</span>
            {breaker.state !== 'closed' && breaker.last_error && (
              <span className="mt-1 block font-mono text-small text-soft">{breaker.last_error}</span>
            )}
          </Fact>
        )}
        {sandbox.task_id != null && (
          <Fact name="Task">
            <Link
              to="/tasks/$id"
              params={{ id: String(sandbox.task_id) }}
              className="text-lamp underline underline-offset-4"
            >
              task-{sandbox.task_id}
            </Link>
          </Fact>
        )}
        {sandbox.agent_id != null && <Fact name="Agent">{sandbox.agent_id}</Fact>}
        <Fact name="Limits">
          {sandbox.limits.cpus} cpu · {megabytes(sandbox.limits.memory_mb)} memory ·{' '}
          {megabytes(sandbox.limits.disk_mb)} disk · {sandbox.limits.pids} processes
        </Fact>
        <Fact name="Network">
          {NETWORK[sandbox.network.mode]}
          {hosts.length > 0 && (
            <span className="mt-1 flex flex-wrap gap-1">
              {hosts.map((host) => (
                <Chip key={host}>{host}</Chip>
              ))}
            </span>
          )}
        </Fact>
        <Fact name="Lifetime">
          {duration(sandbox.timeout_s)}, then it {sandbox.auto_pause ? 'pauses' : 'ends'}
          {sandbox.expires_at && sandbox.phase !== 'gone' && (
            <>
              {' '}
              · <Until at={sandbox.expires_at} /> left
            </>
          )}
        </Fact>
        {sandbox.next_attempt_at && (
          <Fact name="Next attempt">
            in <Until at={sandbox.next_attempt_at} />, the {ordinal(sandbox.attempts + 1)}
          </Fact>
        )}
        {sandbox.env_names.length > 0 && (
          <Fact name="Environment">
            <span className="flex flex-wrap gap-1">
              {sandbox.env_names.map((name) => (
                <Chip key={name}>{name}</Chip>
              ))}
            </span>
          </Fact>
        )}
        {metadata.length > 0 && (
          <Fact name="Metadata">
            <span className="flex flex-wrap gap-1">
              {metadata.map(([name, value]) => (
                <Chip key={name}>
                  {name}={value}
                </Chip>
              ))}
            </span>
          </Fact>
        )}
        <Fact name="Created">
          <Ago at={sandbox.created_at} /> by{' '}
          <span className="font-mono text-small">{sandbox.created_by}</span>
        </Fact>
        {sandbox.ended && (
          <Fact name="Ended">
            <Ago at={sandbox.ended.at} /> by <span className="font-mono text-small">{sandbox.ended.by}</span>:{' '}
            {sandbox.ended.why}
          </Fact>
        )}
        <Fact name="Revision">
          {sandbox.revision}, status {sandbox.status}
        </Fact>
      </dl>
    </section>
  )
}

/** The banner above every page tells the rest of a breaker that is not closed. */
const BREAKERS = {
  closed: { word: 'closed', tone: 'lamp', meaning: 'the provider answers' },
  half_open: { word: 'half-open', tone: 'brass', meaning: 'one try decides' },
  open: { word: 'open', tone: 'bad', meaning: 'the provider is left alone for now' },
} as const

const NETWORK: Record<SandboxView['network']['mode'], string> = {
  none: 'None',
  allow: 'Only these hosts',
  open: 'Open',
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="grid grid-cols-[7rem_minmax(0,1fr)] gap-3 py-2.5">
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
        Journal
      </h2>
      {journal.lines.length === 0 && (
        <p className="text-soft">{journal.isCut ? 'Its entries are too old to be told.' : 'Reading…'}</p>
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
        <p className="mt-3 text-small text-faint">What came before is no longer kept.</p>
      )}
    </section>
  )
}

function ordinal(number: number): string {
  const tail = number % 100
  const ending = tail >= 11 && tail <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][number % 10] ?? 'th')
  return `${number}${ending}`
}
