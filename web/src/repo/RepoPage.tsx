/** One repository: where it comes from, its rules, what was pushed, and its tasks. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { ArrowLeft, Plus, RefreshCw, Trash2 } from 'lucide-react'
import type { ReactNode } from 'react'
import { api, ask } from '../api/client'
import { say } from '../api/problem'
import { keys, pushes, repos } from '../api/queries'
import type { RepoView } from '../api/types'
import { openSheet } from '../frame/sheets'
import { openPulls } from '../pull/queries'
import { TASK_LOOKS } from '../task/phases'
import { tasks } from '../task/queries'
import { Button } from '../ui/Button'
import { Confirm } from '../ui/Confirm'
import { Copy } from '../ui/Copy'
import { cx } from '../ui/cx'
import { Ago } from '../ui/Moments'
import { Box, Chip, Empty, Skeleton, Trouble } from '../ui/Small'
import { toast } from '../ui/Toast'
import { worded } from '../words/enums'
import { rich, t } from '../words/words'
import { CommandRules } from './CommandRules'
import { Connection } from './Connection'
import { PullRules } from './PullRules'
import { RepoPhase } from './ReposPage'
import { Rules } from './Rules'

const route = getRouteApi('/frame/repos/$name')

export function RepoPage() {
  const { name } = route.useParams()
  const navigate = route.useNavigate()
  const list = useQuery(repos)
  const repo = list.data?.find((it) => it.name === name)
  const cache = useQueryClient()
  const path = { params: { path: { name } } }
  const put = (changed: RepoView | undefined) =>
    changed &&
    cache.setQueryData<RepoView[]>(keys.repos, (now) => now?.map((it) => (it.name === name ? changed : it)))
  const sync = useMutation({
    mutationFn: () => ask(api.POST('/api/v1/repos/{name}/sync', path)),
    onSuccess: (answer) => put(answer as RepoView | undefined),
    onError: (error) => toast(t('{name} was not brought up to date', { name }), say(error), 'bad'),
  })
  const remove = useMutation({
    mutationFn: () => ask(api.DELETE('/api/v1/repos/{name}', path)),
    onSuccess: () => {
      void navigate({ to: '/repos' })
      cache.setQueryData<RepoView[]>(keys.repos, (now) => now?.filter((it) => it.name !== name))
    },
    onError: (error) => toast(t('{name} was not removed', { name }), say(error), 'bad'),
  })

  if (list.isPending)
    return (
      <div role="status" aria-label={t('Loading')}>
        <title>{t('{name} · Carrel', { name })}</title>
        <Skeleton className="h-64 rounded-2xl" />
      </div>
    )
  if (list.isError && !list.data) {
    return (
      <>
        <title>{t('{name} · Carrel', { name })}</title>
        <Trouble title={t('The repository could not be read')} detail={say(list.error)}>
          <Button onClick={() => void list.refetch()}>{t('Try again')}</Button>
        </Trouble>
      </>
    )
  }
  if (!repo) {
    return (
      <Empty title={t('No such repository')}>
        <title>{t('No such repository · Carrel')}</title>
        <p>
          {rich('There is no repository {name} here.', {
            name: <span className="font-mono wrap-anywhere">{name}</span>,
          })}
        </p>
        <div>
          <Link to="/repos" className="text-lamp underline underline-offset-4">
            {t('All repositories')}
          </Link>
        </div>
      </Empty>
    )
  }
  const gateway = `${window.location.origin}/git/${repo.name}.git`
  return (
    <>
      <title>{t('{name} · Carrel', { name: repo.name })}</title>
      <Link to="/repos" className="mb-3 inline-flex items-center gap-1.5 text-small text-soft hover:text-ink">
        <ArrowLeft aria-hidden className="size-3.5" /> {t('Repos')}
      </Link>
      <header className="mb-5 flex flex-wrap items-center gap-x-4 gap-y-3">
        <h1 className="text-display wrap-anywhere">{repo.name}</h1>
        <RepoPhase repo={repo} />
        <div className="ml-auto flex flex-wrap gap-2">
          <Button icon={<Plus />} onClick={() => openSheet({ name: 'task', draft: { repo: repo.name } })}>
            {t('New task')}
          </Button>
          {repo.source && (
            <Button icon={<RefreshCw />} isBusy={sync.isPending} onClick={() => sync.mutate()}>
              {t('Sync')}
            </Button>
          )}
          <Confirm
            title={t('Remove {name}?', { name: repo.name })}
            detail={t('The mirror is removed from Carrel. Where it comes from, nothing changes.')}
            act={t('Remove')}
            onConfirm={() => remove.mutate()}
          >
            <Button icon={<Trash2 />} className="hover:border-oxblood hover:text-oxblood">
              {t('Remove')}
            </Button>
          </Confirm>
        </div>
      </header>
      {repo.note && (
        <div className="mb-5">
          <Trouble title={t('It needs a look')} detail={repo.note} />
        </div>
      )}
      {/* Two columns of their own: what is short leaves no hole beside what is long. */}
      <div className="grid grid-cols-1 items-start gap-5 *:space-y-5 lg:grid-cols-2">
        <div>
          <Box title={t('Where')}>
            <dl className="divide-y divide-line">
              <Fact name={t('Source')}>{repo.source ?? t('It lives here.')}</Fact>
              <Fact name={t('Branch')}>
                {repo.default_branch ?? '…'}
                {repo.head && (
                  <span className="ml-2 font-mono text-small text-faint">{repo.head.slice(0, 10)}</span>
                )}
              </Fact>
              <Fact name={t('By git')}>
                <span className="flex items-center gap-1">
                  <code className="min-w-0 truncate font-mono text-small">{gateway}</code>
                  <Copy
                    text={`git clone ${gateway}`}
                    label={t('Copy the command to clone it')}
                    className="-my-2"
                  />
                </span>
              </Fact>
              {repo.synced_at && (
                <Fact name={t('Synced')}>
                  <Ago at={repo.synced_at} />
                </Fact>
              )}
            </dl>
            <Connection repo={repo.name} />
          </Box>
          <OpenPulls repo={repo.name} />
          <Rules key={repo.revision} repo={repo} onSaved={put} />
          <RepoTasks repo={repo.name} />
        </div>
        <div>
          <PullRules key={`pulls ${repo.revision}`} repo={repo} onSaved={put} />
          <CommandRules key={`commands ${repo.revision}`} repo={repo} onSaved={put} />
          <Pushes repo={repo.name} />
        </div>
      </div>
    </>
  )
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="grid grid-cols-[6rem_minmax(0,1fr)] items-baseline gap-3 py-2">
      <dt className="text-faint">{name}</dt>
      <dd className="wrap-anywhere">{children}</dd>
    </div>
  )
}

/** Pulls that no task opened: a task's are with their tasks. */
function OpenPulls({ repo }: { repo: string }) {
  const { data } = useQuery(openPulls(repo))
  const others = data?.filter((pull) => pull.task_id == null) ?? []
  if (others.length === 0) return null
  return (
    <Box title={t('Pulls without a task')}>
      <ul className="divide-y divide-line">
        {others.slice(0, 50).map((pull) => (
          <li key={pull.number} className="flex items-center gap-3 py-2">
            <Link
              to="/pulls/$repo/$number"
              params={{ repo, number: String(pull.number) }}
              className="min-w-0 flex-1 truncate underline-offset-4 hover:underline"
            >
              <span className="mr-2 font-mono text-small text-faint">#{pull.number}</span>
              {pull.title}
            </Link>
            <span className="text-small text-faint">{pull.draft ? t('draft') : worded(pull.phase)}</span>
          </li>
        ))}
      </ul>
    </Box>
  )
}

function RepoTasks({ repo }: { repo: string }) {
  const list = useQuery(tasks)
  const cards = (list.data ?? []).filter((task) => task.repo === repo)
  return (
    <Box title={t('Tasks')}>
      {list.isPending && <Skeleton className="h-10" />}
      {list.isError && !list.data && (
        <Trouble title={t('The tasks could not be listed')} detail={say(list.error)} />
      )}
      {list.data && cards.length === 0 && <p className="text-soft">{t('None yet.')}</p>}
      <ul className="divide-y divide-line">
        {cards.slice(0, 12).map((task) => (
          <li key={task.id} className="flex items-center gap-3 py-2">
            <span aria-hidden className={cx('size-2 shrink-0 rounded-full', TASK_LOOKS[task.phase].dot)} />
            <Link
              to="/tasks/$id"
              params={{ id: String(task.id) }}
              className="min-w-0 flex-1 truncate underline-offset-4 hover:underline"
            >
              <span className="mr-2 font-mono text-small text-faint">{task.id}</span>
              {task.title}
            </Link>
            <span className="text-small text-faint">{TASK_LOOKS[task.phase].word}</span>
          </li>
        ))}
      </ul>
    </Box>
  )
}

function Pushes({ repo }: { repo: string }) {
  const { data, error, isPending } = useQuery(pushes(repo))
  return (
    <Box title={t('Pushes')}>
      {isPending && <Skeleton className="h-10" />}
      {error && !data && <Trouble title={t('The pushes could not be listed')} detail={say(error)} />}
      {data?.length === 0 && <p className="text-soft">{t('Nothing was pushed through the gateway yet.')}</p>}
      <ul className="divide-y divide-line">
        {data?.slice(0, 12).map((push) => (
          <li key={push.id} className="py-2">
            <p className="flex items-center gap-2">
              <Chip tone={push.accepted ? 'lamp' : 'bad'}>
                {push.accepted ? t('accepted') : t('refused')}
              </Chip>
              <span className="min-w-0 flex-1 truncate font-mono text-small">
                {push.refs.map((it) => it.name.replace('refs/heads/', '')).join(', ')}
              </span>
              <span className="text-small text-faint">
                <Ago at={push.at} />
              </span>
            </p>
            {push.refusal && <p className="mt-1 text-small text-oxblood wrap-anywhere">{push.refusal}</p>}
          </li>
        ))}
      </ul>
    </Box>
  )
}
