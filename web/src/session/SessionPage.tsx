/** One conversation, and the desk it is held at. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { ArrowLeft } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import { AgentMark } from '../agent/AgentMark'
import { callJson } from '../api/call'
import { Refusal, say } from '../api/problem'
import { Files } from '../desk/Files'
import { Logs } from '../desk/Logs'
import { Network } from '../desk/Network'
import { Preview } from '../desk/Preview'
import { Composer } from '../talk/Composer'
import { Timeline } from '../talk/Timeline'
import { CHECKOUT, useSandboxOf } from '../task/desk'
import type { Moment, Session } from '../task/types'
import { Button } from '../ui/Button'
import { Segments } from '../ui/Segments'
import { Chip, Empty, Skeleton, Trouble } from '../ui/Small'
import { toast } from '../ui/Toast'
import { putSession } from './fold'
import { conversation, session as sessionQuery } from './queries'

const Terminal = lazy(() => import('../desk/Terminal').then((it) => ({ default: it.Terminal })))
const route = getRouteApi('/frame/sessions/$id')
const TABS = ['terminal', 'files', 'preview', 'network', 'logs'] as const
type Tab = (typeof TABS)[number]
const WORDS: Record<Tab, string> = {
  terminal: 'Terminal',
  files: 'Files',
  preview: 'Preview',
  network: 'Network',
  logs: 'Logs',
}

export default function SessionPage() {
  const { id } = route.useParams()
  const { data, error } = useQuery(sessionQuery(id))
  if (error && !data) {
    return error instanceof Refusal && error.status < 500 ? (
      <Empty title="No such session">
        <title>No such session · Carrel</title>
        <p>It is not here, or not yours to see.</p>
        <div>
          <Link to="/sessions" className="text-lamp underline underline-offset-4">
            All sessions
          </Link>
        </div>
      </Empty>
    ) : (
      <div className="p-6">
        <Trouble title="The session could not be read" detail={say(error)} />
      </div>
    )
  }
  if (!data) return <Skeleton className="m-6 h-64" />
  return <Talk key={data.id} session={data} />
}

function Talk({ session }: { session: Session }) {
  const cache = useQueryClient()
  const talk = useQuery(conversation(session.id))
  const sandbox = useSandboxOf(session)
  const [tab, setTab] = useState<Tab>('files')
  const address = `/api/v1/sessions/${encodeURIComponent(session.id)}`
  const close = useMutation({
    mutationFn: () => callJson<Session | undefined>(address, { method: 'DELETE' }),
    onSuccess: (answer) =>
      answer ? putSession(cache, answer) : cache.invalidateQueries({ queryKey: ['session', session.id] }),
    onError: (error) => toast('The session was not closed', say(error), 'bad'),
  })
  const send = async (text: string): Promise<boolean> => {
    try {
      await callJson(`${address}/messages`, { method: 'POST', body: { text } })
      // The stream tells it again, with its place; asking is for servers that do not.
      void cache.invalidateQueries({ queryKey: ['session-timeline', session.id] })
      return true
    } catch (error) {
      toast('The message was not sent', say(error), 'bad')
      return false
    }
  }
  const isClosed = session.phase === 'closed'
  const moments: readonly Moment[] = talk.data ?? []
  return (
    <>
      <title>{`${session.title || 'Session'} · Carrel`}</title>
      <header className="flex shrink-0 flex-wrap items-center gap-3 px-4 pt-3 pb-3 md:px-5">
        <Link to="/sessions" aria-label="All sessions" className="text-soft hover:text-ink">
          <ArrowLeft aria-hidden className="size-4" />
        </Link>
        <AgentMark name={session.agent} />
        <h1 className="min-w-0 flex-1 truncate text-title">{session.title || 'Session'}</h1>
        {session.repo && <span className="text-small text-soft">{session.repo}</span>}
        <Chip tone={session.phase === 'open' ? 'lamp' : 'plain'}>{session.phase}</Chip>
        {!isClosed && (
          <Button isBusy={close.isPending} onClick={() => close.mutate()}>
            Close
          </Button>
        )}
      </header>
      <div className="grid min-h-0 flex-1 border-t border-line md:grid-cols-2">
        <section aria-label="Conversation" className="flex min-h-0 min-w-0 flex-col border-line md:border-r">
          {talk.isError && !talk.data ? (
            <div className="flex-1 p-4">
              <Trouble title="The conversation could not be read" detail={say(talk.error)} />
            </div>
          ) : moments.length === 0 && !talk.isPending ? (
            <div className="flex-1">
              <Empty title="Say something">
                <p>The agent sits at its desk and waits.</p>
              </Empty>
            </div>
          ) : (
            <Timeline moments={moments} agent={session.agent} isBusy={Boolean(session.busy)} />
          )}
          <Composer
            placeholder={session.phase === 'idle' ? 'Write, and it wakes…' : 'Write to the agent…'}
            isBusy={Boolean(session.busy)}
            sandboxId={session.sandbox_id}
            disabledBecause={isClosed ? 'This session is closed.' : undefined}
            onSend={send}
          />
        </section>
        <div className="flex min-h-0 min-w-0 flex-col max-md:hidden">
          <div className="border-b border-line p-1.5">
            <Segments<Tab>
              label="Desk"
              value={tab}
              options={TABS.map((value) => ({ value, label: WORDS[value] }))}
              onChange={setTab}
            />
          </div>
          {!sandbox ? (
            <Empty title="No desk">
              <p>
                {isClosed ? 'The desk was cleared when the session was closed.' : 'The desk is being set up.'}
              </p>
            </Empty>
          ) : (
            <Suspense fallback={<Skeleton className="m-4 h-40" />}>
              {tab === 'terminal' && (
                <Terminal sandboxId={sandbox.id} {...(session.repo ? { cwd: CHECKOUT } : {})} />
              )}
              {tab === 'files' && <Files sandboxId={sandbox.id} home={session.repo ? CHECKOUT : '/home'} />}
              {tab === 'preview' && <Preview sandboxId={sandbox.id} />}
              {tab === 'network' && <Network sandbox={sandbox} repo={session.repo} />}
              {tab === 'logs' && <Logs sandboxId={sandbox.id} />}
            </Suspense>
          )}
        </div>
      </div>
    </>
  )
}
