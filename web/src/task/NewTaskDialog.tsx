/** A new task: one sentence, and everything else has an answer already. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { ChevronRight, CircleDot, X } from 'lucide-react'
import { type FormEvent, useId, useRef, useState } from 'react'
import { agents } from '../agent/queries'
import { attemptKey } from '../api/client'
import { Refusal, say } from '../api/problem'
import { providers, repos } from '../api/queries'
import { Button, IconButton } from '../ui/Button'
import { Dialog, DialogBody, DialogFoot } from '../ui/Dialog'
import { Field, Input, inputLook, Select } from '../ui/Field'
import { Kbd, Skeleton, Trouble } from '../ui/Small'
import { Switch } from '../ui/Switch'
import { toast } from '../ui/Toast'
import { t } from '../words/words'
import { BLANK, type Draft, type DraftErrors, issueIn, read, TEMPLATES, UNTIL_WORDS } from './draft'
import { isOver } from './phases'
import { createTask, tasks } from './queries'
import type { NewTask, Until } from './types'

const LAST = 'carrel.last-task'

export function NewTaskDialog({ draft, onClose }: { draft: Partial<NewTask>; onClose(): void }) {
  const shelf = useQuery(repos)
  const staff = useQuery(agents)
  const isReady = (shelf.data || shelf.isError) && (staff.data || staff.isError)
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={t('New task')}
      lead={t('A wish for a change. It gets a desk, a branch and a pull request.')}
    >
      {!isReady && (
        <DialogBody>
          <div role="status" aria-label={t('Loading')} className="space-y-4">
            <Skeleton className="h-28" />
            <div className="grid gap-4 sm:grid-cols-2">
              <Skeleton className="h-9" />
              <Skeleton className="h-9" />
            </div>
          </div>
        </DialogBody>
      )}
      {isReady && (
        <NewTaskForm
          first={begin(
            draft,
            shelf.data?.map((it) => it.name) ?? [],
            staff.data?.filter((it) => it.found).map((it) => it.name) ?? [],
          )}
          onDone={onClose}
        />
      )}
    </Dialog>
  )
}

/** Begins with the repository and the agent of last time, when they are still there. */
function begin(draft: Partial<NewTask>, repoNames: string[], agentNames: string[]): Draft {
  let last: { repo?: string; agent?: string } = {}
  try {
    last = JSON.parse(localStorage.getItem(LAST) ?? '{}') as typeof last
  } catch {
    // Nothing is remembered, or nothing may be.
  }
  const pick = (wanted: (string | undefined)[], from: string[]) =>
    wanted.find((it) => it && from.includes(it)) ?? from[0] ?? ''
  return {
    ...BLANK,
    text: draft.prompt ?? draft.title ?? '',
    repo: pick([draft.repo, last.repo], repoNames),
    agent: pick([draft.agent ?? undefined, last.agent], agentNames),
    after: draft.depends_on ?? [],
  }
}

function NewTaskForm({ first, onDone }: { first: Draft; onDone(): void }) {
  const cache = useQueryClient()
  const navigate = useNavigate()
  const shelf = useQuery(repos).data ?? []
  const staff = useQuery(agents).data ?? []
  const places = useQuery(providers).data ?? []
  const others = (useQuery(tasks).data ?? []).filter((it) => !isOver(it))
  const [draft, setDraft] = useState(first)
  const [errors, setErrors] = useState<DraftErrors>({})
  const [isMore, setMore] = useState(first.after.length > 0)
  const more = useId()
  const area = useRef<HTMLTextAreaElement>(null)
  // The same wish sent twice is one task: the key changes only with the body.
  const attempt = useRef({ wish: '', key: '' })

  const create = useMutation({
    mutationFn: (body: NewTask) => {
      const wish = JSON.stringify(body)
      if (attempt.current.wish !== wish) attempt.current = { wish, key: attemptKey() }
      return createTask(cache, body, attempt.current.key)
    },
    onSuccess: (task) => {
      try {
        localStorage.setItem(LAST, JSON.stringify({ repo: task.repo, agent: task.agent }))
      } catch {
        // It is only a convenience.
      }
      toast(
        <button
          type="button"
          className="text-left underline-offset-4 hover:underline"
          onClick={() => void navigate({ to: '/tasks/$id', params: { id: String(task.id) } })}
        >
          {`task-${task.id}`} {task.phase === 'backlog' ? t('is in the backlog') : t('is on its way')}
        </button>,
        task.title,
      )
      onDone()
    },
    onError: (error) => error instanceof Refusal && show(error.fields),
  })

  const show = (next: DraftErrors) => {
    setErrors(next)
    if (Object.keys(next).some((field) => !['text', 'title', 'prompt', 'repo', 'agent'].includes(field)))
      setMore(true)
  }
  const submit = (event?: FormEvent | React.KeyboardEvent) => {
    event?.preventDefault()
    const { body, errors: wrong } = read(draft)
    show(wrong)
    if (Object.keys(wrong).length === 0 && !create.isPending) create.mutate(body)
  }
  const set = <Name extends keyof Draft>(name: Name, value: Draft[Name]) =>
    setDraft((now) => ({ ...now, [name]: value }))
  const text = (name: 'base' | 'allow' | 'budget' | 'priority' | 'labels') => ({
    value: draft[name],
    onChange: (event: { target: { value: string } }) => set(name, event.target.value),
  })
  const issue = issueIn(draft.text)
  const levels = [...new Set(places.flatMap((it) => it.isolation))]
  const known = [
    'text',
    'title',
    'prompt',
    'repo',
    'agent',
    'base',
    'isolation',
    'network',
    'budget_usd',
    'priority',
    'labels',
  ]
  const stray = Object.entries(errors).filter(([field]) => !known.includes(field))

  return (
    <form
      noValidate
      onSubmit={submit}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit(event)
      }}
      className="contents"
    >
      <DialogBody>
        <Field label={t('What should be done?')} error={errors.text ?? errors.title ?? errors.prompt}>
          {(wiring) => (
            <textarea
              {...wiring}
              ref={area}
              // biome-ignore lint/a11y/noAutofocus: the dialog was opened to write here
              autoFocus
              rows={4}
              placeholder={t(
                'Fix the flaky login test\n\nMore lines say more. A link to an issue works too.',
              )}
              value={draft.text}
              onChange={(event) => set('text', event.target.value)}
              className={`${inputLook} h-auto min-h-28 resize-y py-2 leading-6`}
            />
          )}
        </Field>
        <div className="mt-2 flex flex-wrap items-center gap-1.5 text-small">
          {issue ? (
            <span className="inline-flex items-center gap-1.5 rounded-md bg-lamp-wash px-2 py-0.5 text-lamp">
              <CircleDot aria-hidden className="size-3.5" /> {issue.name}
            </span>
          ) : (
            TEMPLATES.map((template) => (
              <button
                key={template.name}
                type="button"
                onClick={() => {
                  set('text', template.text)
                  area.current?.focus()
                }}
                className="rounded-full border border-line px-2.5 py-0.5 text-soft hover:border-line-strong hover:text-ink"
              >
                {template.name}
              </button>
            ))
          )}
        </div>
        <div className="mt-4 grid gap-4 sm:grid-cols-2">
          <Field
            label={t('Repository')}
            error={errors.repo}
            hint={shelf.length === 0 ? t('There is none yet: add one under Repos.') : undefined}
          >
            {(wiring) => (
              <Select {...wiring} value={draft.repo} onChange={(event) => set('repo', event.target.value)}>
                {shelf.length === 0 && <option value="">{t('None yet')}</option>}
                {shelf.map((repo) => (
                  <option key={repo.name} value={repo.name}>
                    {repo.name}
                  </option>
                ))}
              </Select>
            )}
          </Field>
          <Field label={t('Agent')} error={errors.agent}>
            {(wiring) => (
              <Select {...wiring} value={draft.agent} onChange={(event) => set('agent', event.target.value)}>
                <option value="">{t('As the server has it')}</option>
                {staff
                  .toSorted((a, b) => Number(b.found) - Number(a.found))
                  .map((agent) => (
                    <option key={agent.name} value={agent.name}>
                      {agent.name}
                      {agent.model ? ` · ${agent.model}` : ''}
                      {agent.found ? '' : t(' (not installed)')}
                    </option>
                  ))}
              </Select>
            )}
          </Field>
        </div>

        <button
          type="button"
          aria-expanded={isMore}
          aria-controls={more}
          onClick={() => setMore(!isMore)}
          className="mt-4 -ml-1 inline-flex items-center gap-1 rounded-md px-1 text-soft hover:text-ink"
        >
          <ChevronRight
            aria-hidden
            className={`size-4 transition-transform duration-150 ${isMore ? 'rotate-90' : ''}`}
          />
          {t('More')}
        </button>
        <div id={more} hidden={!isMore} className="mt-3">
          <div className="grid gap-4 sm:grid-cols-2">
            <Field label={t('Isolation')} error={errors.isolation}>
              {(wiring) => (
                <Select
                  {...wiring}
                  value={draft.isolation}
                  onChange={(event) => set('isolation', event.target.value as Draft['isolation'])}
                >
                  <option value="">{t('As the repository has it')}</option>
                  {levels.map((level) => (
                    <option key={level} value={level}>
                      {level}
                    </option>
                  ))}
                </Select>
              )}
            </Field>
            <Field
              label={t('Budget, $')}
              error={errors.budget_usd}
              hint={t('The agent is stopped when it is spent.')}
            >
              {(wiring) => (
                <Input {...wiring} {...text('budget')} inputMode="decimal" placeholder={t('none')} />
              )}
            </Field>
            <Field label={t('Network')} error={errors.network}>
              {(wiring) => (
                <Select
                  {...wiring}
                  value={draft.network}
                  onChange={(event) => set('network', event.target.value as Draft['network'])}
                >
                  <option value="">{t('As the repository has it')}</option>
                  <option value="none">{t('None')}</option>
                  <option value="allow">{t('Only these hosts')}</option>
                  <option value="open">{t('Open')}</option>
                </Select>
              )}
            </Field>
            {draft.network === 'allow' ? (
              <Field label={t('Hosts')} hint={t('Apart by spaces or commas.')}>
                {(wiring) => (
                  <Input {...wiring} {...text('allow')} placeholder={t('crates.io *.npmjs.org')} />
                )}
              </Field>
            ) : (
              <Field label={t('Begins at')} error={errors.base}>
                {(wiring) => <Input {...wiring} {...text('base')} placeholder={t('the default branch')} />}
              </Field>
            )}
            <Field label={t('Labels')} error={errors.labels} hint={t('Apart by spaces.')}>
              {(wiring) => <Input {...wiring} {...text('labels')} />}
            </Field>
            <Field label={t('Priority')} error={errors.priority} hint={t('A higher number goes first.')}>
              {(wiring) => <Input {...wiring} {...text('priority')} inputMode="numeric" placeholder="0" />}
            </Field>
          </div>
          {others.length > 0 && (
            <fieldset className="mt-4">
              <legend className="mb-1 text-small font-medium text-soft">{t('Waits until')}</legend>
              <ul className="mb-2 space-y-1.5">
                {draft.after.map((it) => (
                  <li key={it.task_id} className="flex items-center gap-2">
                    <span className="min-w-0 flex-1 truncate">
                      <span className="font-mono text-small text-faint">{`task-${it.task_id}`}</span>{' '}
                      {others.find((task) => task.id === it.task_id)?.title}
                    </span>
                    <Select
                      aria-label={t('Until task-{task_id}', { task_id: it.task_id })}
                      value={it.until}
                      className="w-auto"
                      onChange={(event) =>
                        set(
                          'after',
                          draft.after.map((other) =>
                            other.task_id === it.task_id
                              ? { ...other, until: event.target.value as Until }
                              : other,
                          ),
                        )
                      }
                    >
                      {Object.entries(UNTIL_WORDS).map(([until, words]) => (
                        <option key={until} value={until}>
                          {words}
                        </option>
                      ))}
                    </Select>
                    <IconButton
                      label={t('Do not wait for task-{task_id}', { task_id: it.task_id })}
                      onClick={() =>
                        set(
                          'after',
                          draft.after.filter((other) => other.task_id !== it.task_id),
                        )
                      }
                    >
                      <X />
                    </IconButton>
                  </li>
                ))}
              </ul>
              <Select
                aria-label={t('Wait for a task')}
                value=""
                onChange={(event) =>
                  set('after', [...draft.after, { task_id: Number(event.target.value), until: 'merged' }])
                }
              >
                <option value="">{t('Wait for a task…')}</option>
                {others
                  .filter((task) => !draft.after.some((it) => it.task_id === task.id))
                  .map((task) => (
                    <option key={task.id} value={task.id}>
                      {`task-${task.id}`} · {task.title}
                    </option>
                  ))}
              </Select>
            </fieldset>
          )}
        </div>

        {create.isError && (Object.keys(errors).length === 0 || stray.length > 0) && (
          <div className="mt-4">
            <Trouble
              title={t('The task was not made')}
              detail={
                stray.length > 0
                  ? stray.map(([field, detail]) => `${field}: ${detail}`).join('; ')
                  : say(create.error)
              }
            />
          </div>
        )}
      </DialogBody>
      <DialogFoot>
        <span className="mr-auto">
          <Switch isOn={draft.start} onChange={(isOn) => set('start', isOn)}>
            {t('Start at once')}
          </Switch>
        </span>
        <span className="hidden items-center gap-1 text-small text-faint sm:flex">
          <Kbd>{t('Ctrl')}</Kbd> <Kbd>{t('Enter')}</Kbd>
        </span>
        <Button tone="primary" type="submit" isBusy={create.isPending}>
          {draft.start ? t('Start task') : t('Add to backlog')}
        </Button>
      </DialogFoot>
    </form>
  )
}
