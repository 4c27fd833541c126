/** One conversation, and the desk it is held at. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { ArrowLeft } from 'lucide-react'
import { useState } from 'react'
import { AgentMark } from '../agent/AgentMark'
import { callJson } from '../api/call'
import { Refusal, say } from '../api/problem'
import { deskParts } from '../desk/deskParts'
import { EditorButton } from '../desk/EditorButton'
import { CHECKOUT } from '../desk/parts'
import { Composer } from '../talk/Composer'
import { Timeline } from '../talk/Timeline'
import { useSandboxOf } from '../task/desk'
import type { Moment, Session } from '../task/types'
import { Button } from '../ui/Button'
import { Halves } from '../ui/Halves'
import { Parts } from '../ui/Parts'
import { Chip, Empty, Skeleton, Trouble } from '../ui/Small'
import { toast } from '../ui/Toast'
import { worded } from '../words/enums'
import { t } from '../words/words'
import { putSession } from './fold'
import { conversation, session as sessionQuery } from './queries'

const route = getRouteApi('/frame/sessions/$id')

export default function SessionPage() {
  const { id } = route.useParams()
  const { data, error } = useQuery(sessionQuery(id))
  if (error && !data) {
    return error instanceof Refusal && error.status < 500 ? (
      <Empty title={t('No such session')}>
        <title>{t('No such session · Carrel')}</title>
        <p>{t('It is not here, or not yours to see.')}</p>
        <div>
          <Link to="/sessions" className="text-lamp underline underline-offset-4">
            {t('All sessions')}
          </Link>
        </div>
      </Empty>
    ) : (
      <div className="p-6">
        <Trouble title={t('The session could not be read')} detail={say(error)} />
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
  const { tab } = route.useSearch()
  const navigate = route.useNavigate()
  const [isTalking, setTalking] = useState(!tab)
  const address = `/api/v1/sessions/${encodeURIComponent(session.id)}`
  const close = useMutation({
    mutationFn: () => callJson<Session | undefined>(address, { method: 'DELETE' }),
    onSuccess: (answer) =>
      answer ? putSession(cache, answer) : cache.invalidateQueries({ queryKey: ['session', session.id] }),
    onError: (error) => toast(t('The session was not closed'), say(error), 'bad'),
  })
  const send = async (text: string): Promise<boolean> => {
    try {
      await callJson(`${address}/messages`, { method: 'POST', body: { text } })
      // The stream tells it again, with its place; asking is for servers that do not.
      void cache.invalidateQueries({ queryKey: ['session-timeline', session.id] })
      return true
    } catch (error) {
      toast(t('The message was not sent'), say(error), 'bad')
      return false
    }
  }
  const isClosed = session.phase === 'closed'
  const folder = session.repo ? CHECKOUT : undefined
  const moments: readonly Moment[] = talk.data ?? []
  return (
    <>
      <title>{t('{title} · Carrel', { title: session.title || t('Session') })}</title>
      <header className="flex shrink-0 flex-wrap items-center gap-3 px-4 pt-3 pb-3 md:px-5">
        <Link to="/sessions" aria-label={t('All sessions')} className="text-soft hover:text-ink">
          <ArrowLeft aria-hidden className="size-4" />
        </Link>
        <AgentMark name={session.agent} />
        <h1 className="min-w-0 flex-1 truncate text-title">{session.title || t('Session')}</h1>
        {session.repo && <span className="text-small text-soft">{session.repo}</span>}
        <Chip tone={session.phase === 'open' ? 'lamp' : 'plain'}>{worded(session.phase)}</Chip>
        {!isClosed && (
          <Button isBusy={close.isPending} onClick={() => close.mutate()}>
            {t('Close')}
          </Button>
        )}
      </header>
      <Halves
        word={t('Desk')}
        isTalking={isTalking}
        onTalking={setTalking}
        talk={
          <>
            {talk.isError && !talk.data ? (
              <div className="flex-1 p-4">
                <Trouble title={t('The conversation could not be read')} detail={say(talk.error)} />
              </div>
            ) : moments.length === 0 && !talk.isPending ? (
              <div className="flex-1">
                <Empty title={t('Say something')}>
                  <p>{t('The agent sits at its desk and waits.')}</p>
                </Empty>
              </div>
            ) : (
              <Timeline moments={moments} agent={session.agent} isBusy={Boolean(session.busy)} />
            )}
            <Composer
              placeholder={session.phase === 'idle' ? t('Write, and it wakes…') : t('Write to the agent…')}
              isBusy={Boolean(session.busy)}
              sandboxId={session.sandbox_id}
              disabledBecause={isClosed ? t('This session is closed.') : undefined}
              onSend={send}
            />
          </>
        }
      >
        <Parts
          label={t('Desk')}
          value={tab ?? 'files'}
          onChange={(next) => void navigate({ search: { tab: next }, replace: true })}
          parts={deskParts({
            sandbox,
            sandboxId: session.sandbox_id,
            folder,
            repo: session.repo,
            absent: isClosed
              ? t('The desk was cleared when the session was closed.')
              : t('The desk is being set up.'),
          })}
          corner={
            sandbox?.phase === 'ready' && <EditorButton sandboxId={sandbox.id} folder={folder ?? '/home'} />
          }
        />
      </Halves>
    </>
  )
}
