/** Conversations with agents that are not about one change: ask, look, try. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { MessagesSquare, Plus, Search } from 'lucide-react'
import { useDeferredValue, useRef, useState } from 'react'
import { AgentMark } from '../agent/AgentMark'
import { agents } from '../agent/queries'
import { callJson } from '../api/call'
import { attemptKey } from '../api/client'
import { beside, fieldsOf, say } from '../api/problem'
import { repos } from '../api/queries'
import { EmptyDesk } from '../sandbox/Desk'
import type { Session } from '../task/types'
import { Button } from '../ui/Button'
import { cx } from '../ui/cx'
import { Dialog } from '../ui/Dialog'
import { DialogForm } from '../ui/DialogForm'
import { Field, Input, Select } from '../ui/Field'
import { Ago } from '../ui/Moments'
import { Segments } from '../ui/Segments'
import { Chip, Empty, Kbd, PageHead, Skeleton, Trouble } from '../ui/Small'
import { useShortcuts } from '../ui/shortcuts'
import { worded } from '../words/enums'
import { t } from '../words/words'
import { matching } from './filter'
import { putSession } from './fold'
import { closedSessions, sessions, sessionsSaying } from './queries'

const route = getRouteApi('/frame/sessions')
const TONES = { open: 'lamp', idle: 'plain', closed: 'plain' } as const

export function SessionsPage() {
  const { closed = false, text = '' } = route.useSearch()
  const navigate = route.useNavigate()
  const present = useQuery({ ...sessions, enabled: !closed })
  const past = useQuery({ ...closedSessions, enabled: closed })
  const list = closed ? past : present
  const wanted = useDeferredValue(text.trim())
  const found = useQuery({
    ...sessionsSaying(wanted, closed),
    enabled: wanted !== '',
    placeholderData: (before) => before,
  })
  const [isOpening, setOpening] = useState(false)
  const field = useRef<HTMLInputElement>(null)
  const look = (isClosed: boolean, words: string) =>
    void navigate({
      search: { ...(isClosed ? { closed: true as const } : {}), ...(words ? { text: words } : {}) },
      replace: true,
    })
  useShortcuts({
    n: (event) => {
      event.preventDefault()
      setOpening(true)
    },
    '/': (event) => {
      event.preventDefault()
      field.current?.select()
    },
  })
  // A task's conversation is on the task's page.
  const belongs = (it: Session) => it.task_id == null && (it.phase === 'closed') === closed
  const all = list.data?.filter(belongs)
  const own = all && matching(all, wanted ? (found.data ?? []).filter(belongs) : [], text)
  return (
    <>
      <title>{t('Sessions · Carrel')}</title>
      <PageHead
        title={t('Sessions')}
        lead={t(
          'Conversations with an agent at a desk. They sleep when nobody talks, and wake where they were.',
        )}
      >
        <Button tone="primary" icon={<Plus />} onClick={() => setOpening(true)}>
          {t('New session')}
        </Button>
      </PageHead>
      <search className="mb-3 flex flex-wrap items-center gap-x-4 gap-y-2.5">
        <Segments
          label={t('Which')}
          value={closed ? 'closed' : 'open'}
          options={[
            { value: 'open', label: t('Open') },
            { value: 'closed', label: t('Closed') },
          ]}
          onChange={(which) => look(which === 'closed', text)}
        />
        <div className="relative min-w-40 flex-1 sm:max-w-72">
          <Search aria-hidden className="pointer-events-none absolute top-2.5 left-3 size-4 text-faint" />
          <Input
            ref={field}
            type="search"
            aria-label={t('Find in titles and in what was said')}
            placeholder={t('Find in what was said')}
            value={text}
            onChange={(event) => look(closed, event.target.value)}
            className="pr-8 pl-9"
          />
          <span aria-hidden className={cx('pointer-events-none absolute top-2 right-2.5', text && 'hidden')}>
            <Kbd>/</Kbd>
          </span>
        </div>
      </search>
      {list.isPending && <Skeleton className="h-32 rounded-2xl" />}
      {list.isError && !list.data && (
        <Trouble title={t('The sessions could not be listed')} detail={say(list.error)} />
      )}
      {own?.length === 0 && text && (
        <Empty title={t('Nothing matches')}>
          <p>{t('Neither a title nor anything that was said holds these words.')}</p>
          <div>
            <Button onClick={() => look(closed, '')}>{t('Clear the filter')}</Button>
          </div>
        </Empty>
      )}
      {own?.length === 0 && !text && closed && (
        <Empty title={t('Nothing is closed yet')}>
          <p>{t('What was said in a session that is closed stays to be read, here.')}</p>
        </Empty>
      )}
      {own?.length === 0 && !text && !closed && (
        <Empty title={t('Nobody is talking')} art={<EmptyDesk />}>
          <p>
            {t(
              'A session is a desk with an agent at it, for questions and experiments. Changes you want merged are tasks.',
            )}
          </p>
        </Empty>
      )}
      {own && own.length > 0 && (
        <ul
          aria-label={t('Sessions')}
          className="divide-y divide-line rounded-2xl border border-line bg-card shadow-card"
        >
          {own.map((session) => (
            <li key={session.id} className="relative flex items-center gap-3 px-4 py-3 hover:bg-paper">
              <AgentMark name={session.agent} isLarge />
              <div className="min-w-0 flex-1">
                <Link
                  to="/sessions/$id"
                  params={{ id: session.id }}
                  className="block truncate font-medium before:absolute before:inset-0"
                >
                  {session.title || t('Untitled')}
                </Link>
                <p className="truncate text-small text-faint">
                  {[session.agent, session.repo].filter(Boolean).join(' · ')}
                </p>
              </div>
              {session.busy ? (
                <Chip tone="lamp">{t('at work')}</Chip>
              ) : (
                <Chip tone={TONES[session.phase]}>{worded(session.phase)}</Chip>
              )}
              <span className="w-20 text-right text-small text-faint">
                <Ago at={session.updated_at} />
              </span>
            </li>
          ))}
        </ul>
      )}
      <Dialog
        isOpen={isOpening}
        onClose={() => setOpening(false)}
        title={t('New session')}
        lead={t('A desk, and someone to talk to.')}
      >
        <SessionForm />
      </Dialog>
    </>
  )
}

function SessionForm() {
  const cache = useQueryClient()
  const navigate = route.useNavigate()
  const staff = useQuery(agents).data ?? []
  const shelf = useQuery(repos).data ?? []
  const [title, setTitle] = useState('')
  const [agent, setAgent] = useState('')
  const [repo, setRepo] = useState('')
  const create = useMutation({
    mutationFn: () =>
      callJson<Session>('/api/v1/sessions', {
        method: 'POST',
        headers: { 'Idempotency-Key': attemptKey() },
        body: {
          ...(title.trim() ? { title: title.trim() } : {}),
          ...(agent ? { agent } : {}),
          ...(repo ? { repo } : {}),
        },
      }),
    onSuccess: (session) => {
      putSession(cache, session)
      void navigate({ to: '/sessions/$id', params: { id: session.id } })
    },
  })
  const fields = fieldsOf(create.error)
  return (
    <DialogForm
      act={t('Open session')}
      icon={<MessagesSquare />}
      failed={t('The session was not opened')}
      why={beside(create.error, ['title', 'agent', 'repo'])}
      isBusy={create.isPending}
      onAct={() => create.mutate()}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label={t('About')} error={fields.title} className="sm:col-span-2">
          {(wiring) => (
            <Input
              {...wiring}
              autoFocus
              placeholder={t('How does the login work?')}
              value={title}
              onChange={(event) => setTitle(event.target.value)}
            />
          )}
        </Field>
        <Field label={t('Agent')} error={fields.agent}>
          {(wiring) => (
            <Select {...wiring} value={agent} onChange={(event) => setAgent(event.target.value)}>
              <option value="">{t('As the server has it')}</option>
              {staff.map((it) => (
                <option key={it.name}>{it.name}</option>
              ))}
            </Select>
          )}
        </Field>
        <Field label={t('Repository')} error={fields.repo}>
          {(wiring) => (
            <Select {...wiring} value={repo} onChange={(event) => setRepo(event.target.value)}>
              <option value="">{t('None')}</option>
              {shelf.map((it) => (
                <option key={it.name}>{it.name}</option>
              ))}
            </Select>
          )}
        </Field>
      </div>
    </DialogForm>
  )
}
