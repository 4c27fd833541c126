/** One conversation, and the desk it is held at. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { ArrowLeft } from 'lucide-react'
import { lazy, useCallback, useState } from 'react'
import { AgentMark } from '../agent/AgentMark'
import { callJson } from '../api/call'
import { Refusal, say } from '../api/problem'
import { deskParts } from '../desk/deskParts'
import { EditorButton } from '../desk/EditorButton'
import { CHECKOUT } from '../desk/parts'
import { Composer } from '../talk/Composer'
import { Timeline } from '../talk/Timeline'
import { useSandboxOf } from '../task/desk'
import { openHere } from '../task/queries'
import type { Moment, Session } from '../task/types'
import { Button } from '../ui/Button'
import { Confirm } from '../ui/Confirm'
import { Halves, HalvesComing } from '../ui/Halves'
import { type Part, Parts } from '../ui/Parts'
import { Chip, Empty, Skeleton, Trouble } from '../ui/Small'
import { toast } from '../ui/Toast'
import { worded } from '../words/enums'
import { t } from '../words/words'
import { putSession } from './fold'
import { addressOf, conversation, forkFrom, interrupt, session as sessionQuery } from './queries'
import { SESSION_WORDS, type SessionTab } from './tabs'

const SessionDiff = lazy(() => import('./SessionDiff'))
const route = getRouteApi('/frame/sessions/$id')

export default function SessionPage() {
  const { id } = route.useParams()
  const { data, error, refetch } = useQuery(sessionQuery(id))
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
      <div className="mx-auto w-full max-w-xl px-6 py-16">
        <title>Carrel</title>
        <Trouble title={t('The session could not be read')} detail={say(error)}>
          <Button onClick={() => void refetch()}>{t('Try again')}</Button>
        </Trouble>
      </div>
    )
  }
  if (!data) return <HalvesComing />
  return <Talk key={data.id} session={data} />
}

function Talk({ session }: { session: Session }) {
  const cache = useQueryClient()
  const talk = useQuery(conversation(session.id))
  const sandbox = useSandboxOf(session)
  const { tab, since } = route.useSearch()
  const navigate = route.useNavigate()
  const [isTalking, setTalking] = useState(!tab)
  const address = addressOf(session.id)
  const show = useCallback(
    (tab: SessionTab, more: { since?: number } = {}) => {
      setTalking(false)
      void navigate({ search: { tab, ...more }, replace: true })
    },
    [navigate],
  )
  const onSince = useCallback((seq: number) => show('diff', { since: seq }), [show])
  const onOpen = useCallback(
    (seq: number) => {
      openHere(cache, `sessions/${session.id}`, seq).then(
        (desk) =>
          void navigate({
            to: '/sandboxes/$id',
            params: { id: desk.id },
            search: { tab: 'files', at: CHECKOUT },
          }),
        (error) => toast(t('The checkpoint could not be opened'), say(error), 'bad'),
      )
    },
    [cache, session.id, navigate],
  )
  const onFork = useCallback(
    (seq: number) => {
      forkFrom(cache, session.id, seq).then(
        (fork) => void navigate({ to: '/sessions/$id', params: { id: fork.id }, search: {} }),
        (error) => toast(t('The session was not forked'), say(error), 'bad'),
      )
    },
    [cache, session.id, navigate],
  )
  const breakOff = async (text?: string): Promise<boolean> => {
    try {
      await interrupt(cache, session.id, text)
      return true
    } catch (error) {
      toast(t('The agent was not interrupted'), say(error), 'bad')
      return false
    }
  }
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
  const desk: Part<SessionTab>[] = deskParts({
    sandbox,
    sandboxId: session.sandbox_id,
    folder,
    repo: session.repo,
    absent: isClosed
      ? t('The desk was cleared when the session was closed.')
      : t('The desk is being set up.'),
  })
  const diff: Part<SessionTab> = {
    name: 'diff',
    word: SESSION_WORDS.diff,
    panel: (
      <SessionDiff
        session={session}
        moments={moments}
        since={since}
        onAll={() => show('diff')}
        onSend={send}
      />
    ),
  }
  const parts = session.repo ? [diff, ...desk] : desk
  return (
    <>
      <title>{t('{title} · Carrel', { title: session.title || t('Session') })}</title>
      <header className="flex shrink-0 flex-wrap items-center gap-3 px-4 pt-3 pb-3 md:px-5">
        <Link to="/sessions" aria-label={t('All sessions')} className="text-soft hover:text-ink">
          <ArrowLeft aria-hidden className="size-4" />
        </Link>
        <AgentMark name={session.agent} />
        <h1 className="min-w-0 flex-1 truncate text-title">{session.title || t('Session')}</h1>
        <span className="flex items-center gap-3 text-small text-soft max-sm:order-last max-sm:basis-full">
          {session.repo}
          <Chip tone={session.phase === 'open' ? 'lamp' : 'plain'}>{worded(session.phase)}</Chip>
        </span>
        {!isClosed && (
          <Confirm
            title={t('Close this session?')}
            detail={t(
              'Its desk is cleared, with every file that was not pushed. What was said stays to be read.',
            )}
            act={t('Close')}
            onConfirm={() => close.mutate()}
          >
            <Button isBusy={close.isPending}>{t('Close')}</Button>
          </Confirm>
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
            ) : talk.isPending ? (
              <div role="status" aria-label={t('Loading')} className="flex-1 space-y-3 p-4">
                <Skeleton className="h-16" />
                <Skeleton className="h-10 w-3/4" />
                <Skeleton className="h-24" />
              </div>
            ) : moments.length === 0 ? (
              <div className="flex-1">
                <Empty title={t('Say something')}>
                  <p>{t('The agent sits at its desk and waits.')}</p>
                </Empty>
              </div>
            ) : (
              <Timeline
                moments={moments}
                agent={session.agent}
                isBusy={Boolean(session.busy)}
                onSince={onSince}
                onOpen={onOpen}
                onFork={onFork}
              />
            )}
            <Composer
              name={session.id}
              placeholder={session.phase === 'idle' ? t('Write, and it wakes…') : t('Write to the agent…')}
              isBusy={Boolean(session.busy)}
              sandboxId={session.sandbox_id}
              disabledBecause={isClosed ? t('This session is closed.') : undefined}
              onSend={send}
              onSendNow={breakOff}
              onStop={() => breakOff()}
            />
          </>
        }
      >
        <Parts
          label={t('Desk')}
          value={parts.find((part) => part.name === tab)?.name ?? 'files'}
          onChange={(next) => show(next)}
          parts={parts}
          corner={
            sandbox?.phase === 'ready' && (
              <EditorButton isSmall sandboxId={sandbox.id} folder={folder ?? '/home'} />
            )
          }
        />
      </Halves>
    </>
  )
}
