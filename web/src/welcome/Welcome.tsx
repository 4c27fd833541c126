/** The first run: a repository, an agent, and the first task. Three steps and no account anywhere. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Check, FolderGit2, Link as LinkIcon, Sparkles } from 'lucide-react'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { AgentMark } from '../agent/AgentMark'
import { DIALECTS } from '../agent/dialects'
import { agents } from '../agent/queries'
import { callJson } from '../api/call'
import { api, ask } from '../api/client'
import { Refusal, say } from '../api/problem'
import { keys } from '../api/queries'
import type { RepoView } from '../api/types'
import { AddRepoDialog } from '../repo/AddRepoDialog'
import { EmptyDesk } from '../sandbox/Desk'
import { createTask } from '../task/queries'
import type { Agent } from '../task/types'
import { Button } from '../ui/Button'
import { cx } from '../ui/cx'
import { inputLook } from '../ui/Field'
import { Trouble } from '../ui/Small'
import { t } from '../words/words'
import { DEMO_COMMAND, DEMO_WISH, SAMPLE } from './demo'

export function Welcome({ repos }: { repos: RepoView[] }) {
  const cache = useQueryClient()
  const navigate = useNavigate()
  const staff = (useQuery(agents).data ?? [])
    .filter((it) => it.found !== false)
    .sort((a, b) => Number(b.dialect === 'demo') - Number(a.dialect === 'demo'))
  const [repo, setRepo] = useState(repos.find((it) => it.phase !== 'failed')?.name)
  const [agent, setAgent] = useState<string>()
  const [wish, setWish] = useState(DEMO_WISH)
  const [isAdding, setAdding] = useState(false)
  const step = !repo ? 1 : !agent ? 2 : 3

  const sample = useMutation({
    mutationFn: () => ask(api.POST('/api/v1/repos', { body: { new: true, name: SAMPLE } })),
    onSuccess: (it) => {
      cache.setQueryData<RepoView[]>(keys.repos, (list) =>
        list && !list.some((other) => other.name === it.name) ? [it, ...list] : list,
      )
      setRepo(it.name)
    },
    // Somebody was here before: the sample is there already.
    onError: (error) => error instanceof Refusal && error.status === 409 && setRepo(SAMPLE),
  })

  const demo = useMutation({
    mutationFn: () =>
      callJson<Agent>('/api/v1/agents', {
        method: 'POST',
        body: { name: 'demo', dialect: 'shell', command: DEMO_COMMAND },
      }),
    onSuccess: () => {
      void cache.invalidateQueries({ queryKey: keys.agents })
      setAgent('demo')
    },
    onError: (error) => error instanceof Refusal && error.status === 409 && setAgent('demo'),
  })

  const go = useMutation({
    mutationFn: () =>
      createTask(cache, {
        repo: repo as string,
        agent: agent as string,
        title: wish.split('\n')[0]?.trim() ?? '',
        ...(wish.trim().includes('\n') ? { prompt: wish.trim() } : {}),
        start: true,
      }),
    onSuccess: (task) => void navigate({ to: '/tasks/$id', params: { id: String(task.id) } }),
  })

  return (
    <div className="min-h-0 flex-1 overflow-y-auto">
      <title>{t('Welcome · Carrel')}</title>
      <div className="mx-auto max-w-2xl px-4 py-8 md:py-12">
        <header className="flex flex-col items-center text-center">
          <EmptyDesk />
          <h1 className="text-display">{t('Welcome to Carrel')}</h1>
          <p className="mt-1.5 max-w-md text-soft">
            {t(
              'Every coding agent gets a private desk, and its work comes to you as a pull request. Three steps, and no account anywhere.',
            )}
          </p>
        </header>
        <ol className="mt-8 space-y-3">
          <Step number={1} now={step} title={t('A repository')} done={repo}>
            <div className="grid gap-3 sm:grid-cols-2">
              <Choice
                icon={<Sparkles />}
                title={t('A sample')}
                detail={t('A small repository that lives here, to see how it goes.')}
                isBusy={sample.isPending}
                onClick={() => sample.mutate()}
              />
              <Choice
                icon={<LinkIcon />}
                title={t('One of yours')}
                detail={t('By its address, or by a path on this machine.')}
                onClick={() => setAdding(true)}
              />
              {repos.map((it) => (
                <Choice
                  key={it.name}
                  icon={<FolderGit2 />}
                  title={it.name}
                  detail={it.source ?? t('It lives here.')}
                  onClick={() => setRepo(it.name)}
                />
              ))}
            </div>
            {sample.isError && !repo && (
              <Trouble title={t('The sample was not made')} detail={say(sample.error)} />
            )}
          </Step>
          <Step
            number={2}
            now={step}
            title={t('An agent')}
            hint={t('one you have, or a demo that needs no key')}
            done={agent}
            onBack={() => setAgent(undefined)}
          >
            <div className="grid gap-3 sm:grid-cols-2">
              {!staff.some((it) => it.name === 'demo') && (
                <Choice
                  icon={<Sparkles />}
                  title={t('The demo')}
                  detail={t('A script that plays an agent. Needs no key and costs nothing.')}
                  isBusy={demo.isPending}
                  onClick={() => demo.mutate()}
                />
              )}
              {staff.map((it) => (
                <Choice
                  key={it.name}
                  icon={<AgentMark name={it.name} />}
                  title={it.name}
                  detail={it.about || it.model || DIALECTS[it.dialect] || it.dialect}
                  onClick={() => setAgent(it.name)}
                />
              ))}
            </div>
            {demo.isError && !agent && (
              <Trouble title={t('The demo was not added')} detail={say(demo.error)} />
            )}
          </Step>
          <Step number={3} now={step} title={t('The first task')} hint={t('one sentence is enough')}>
            <label className="block">
              <span className="mb-1 block text-small font-medium text-soft">{t('What should be done?')}</span>
              <textarea
                rows={2}
                value={wish}
                onChange={(event) => setWish(event.target.value)}
                onKeyDown={(event) => {
                  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && wish.trim()) go.mutate()
                }}
                className={`${inputLook} h-auto py-2`}
              />
            </label>
            {go.isError && <Trouble title={t('The task was not made')} detail={say(go.error)} />}
            <Button tone="primary" isBusy={go.isPending} disabled={!wish.trim()} onClick={() => go.mutate()}>
              {t('Go')}
            </Button>
          </Step>
        </ol>
      </div>
      <AddRepoDialog isOpen={isAdding} onClose={() => setAdding(false)} onAdded={(it) => setRepo(it.name)} />
    </div>
  )
}

function Step({
  number,
  now,
  title,
  hint,
  done,
  onBack,
  children,
}: {
  number: number
  now: number
  title: string
  /** What it will be about, until its turn. */
  hint?: string
  done?: string | undefined
  onBack?: () => void
  children: ReactNode
}) {
  const isDone = now > number
  const isNow = now === number
  const body = useRef<HTMLDivElement>(null)
  const wasNow = useRef(isNow)
  // Who goes on by keyboard is taken along: what had the focus is gone with its step.
  useEffect(() => {
    if (isNow && !wasNow.current) body.current?.querySelector<HTMLElement>('button, textarea')?.focus()
    wasNow.current = isNow
  }, [isNow])
  return (
    <li
      aria-current={isNow ? 'step' : undefined}
      className={cx(
        'rounded-2xl border bg-card px-5 py-4 transition-opacity duration-300',
        isNow ? 'border-line shadow-card' : 'border-line',
        now < number && 'text-soft',
      )}
    >
      <h2 className="flex items-center gap-3 text-lead">
        <span
          aria-hidden
          className={cx(
            'grid size-7 place-items-center rounded-full font-sans text-small font-semibold',
            isDone ? 'bg-lamp text-on-lamp' : isNow ? 'bg-brass-wash text-brass' : 'bg-well text-soft',
          )}
        >
          {isDone ? <Check className="size-4" /> : number}
        </span>
        {title}
        {hint && now < number && (
          <span className="ml-auto text-right font-sans text-small font-normal tracking-normal text-faint">
            {hint}
          </span>
        )}
        {isDone && (
          <span className="ml-auto flex items-center gap-2 font-sans text-base font-normal text-soft">
            {done}
            {onBack && (
              <button
                type="button"
                onClick={onBack}
                className="text-small text-lamp underline underline-offset-4"
              >
                {t('change')}
              </button>
            )}
          </span>
        )}
      </h2>
      {isNow && (
        <div ref={body} className="mt-4 animate-appear space-y-4">
          {children}
        </div>
      )}
    </li>
  )
}

function Choice({
  icon,
  title,
  detail,
  isBusy,
  onClick,
}: {
  icon: ReactNode
  title: string
  detail: string
  isBusy?: boolean
  onClick(): void
}) {
  return (
    <button
      type="button"
      onClick={onClick}
      disabled={isBusy}
      aria-busy={isBusy || undefined}
      className="flex items-start gap-3 rounded-xl border border-line bg-paper p-3.5 text-left transition-colors hover:border-lamp hover:bg-lamp-wash disabled:opacity-55"
    >
      <span aria-hidden className="mt-0.5 grid size-5 shrink-0 place-items-center text-brass *:size-4.5">
        {icon}
      </span>
      <span className="min-w-0">
        <span className="block font-medium">{title}</span>
        <span className="block text-small text-soft wrap-anywhere">{detail}</span>
      </span>
    </button>
  )
}
