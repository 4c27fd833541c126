/** The repositories Carrel works on. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { FolderGit2, Plus } from 'lucide-react'
import { useState } from 'react'
import { say } from '../api/problem'
import { repos } from '../api/queries'
import type { RepoView } from '../api/types'
import { EmptyDesk } from '../sandbox/Desk'
import { isOver } from '../task/phases'
import { tasks } from '../task/queries'
import { Button } from '../ui/Button'
import { Ago } from '../ui/Moments'
import { Chip, Command, Empty, PageHead, Skeleton, Trouble } from '../ui/Small'
import { useShortcuts } from '../ui/shortcuts'
import { worded } from '../words/enums'
import { rich, t, tn } from '../words/words'
import { AddRepoDialog } from './AddRepoDialog'

const route = getRouteApi('/frame/repos')

export function ReposPage() {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const list = useQuery(repos)
  const [isAdding, setAdding] = useState(Boolean(search.add))
  useShortcuts({
    n: (event) => {
      event.preventDefault()
      setAdding(true)
    },
  })
  return (
    <>
      <title>{t('Repos · Carrel')}</title>
      <PageHead title={t('Repos')} lead={t('Each has a mirror here; a checkout costs milliseconds.')}>
        <Button tone="primary" icon={<Plus />} onClick={() => setAdding(true)}>
          {t('Add repository')}
        </Button>
      </PageHead>
      {list.isPending && <Skeleton className="h-32 rounded-2xl" />}
      {list.isError && !list.data && (
        <Trouble title={t('The repositories could not be listed')} detail={say(list.error)} />
      )}
      {list.data?.length === 0 && (
        <Empty title={t('An empty shelf')} art={<EmptyDesk />}>
          <p>
            {t(
              'Add a repository by its address, by a path on this machine, or begin a new one that lives here.',
            )}
          </p>
          <Command>carrel repo add https://github.com/acme/api</Command>
        </Empty>
      )}
      {list.data && list.data.length > 0 && (
        <ul aria-label={t('Repositories')} className="grid grid-cols-1 gap-3 sm:grid-cols-2 xl:grid-cols-3">
          {list.data.map((repo) => (
            <RepoCard key={repo.name} repo={repo} />
          ))}
        </ul>
      )}
      <AddRepoDialog
        isOpen={isAdding}
        onClose={() => setAdding(false)}
        onAdded={(repo) => void navigate({ to: '/repos/$name', params: { name: repo.name } })}
      />
    </>
  )
}

function RepoCard({ repo }: { repo: RepoView }) {
  const cards = (useQuery(tasks).data ?? []).filter((task) => task.repo === repo.name && !isOver(task))
  return (
    <li className="relative flex flex-col gap-2 rounded-2xl border border-line bg-card p-4 shadow-card hover:border-line-strong">
      <div className="flex items-center gap-2.5">
        <FolderGit2 aria-hidden className="size-5 shrink-0 text-brass" />
        <Link
          to="/repos/$name"
          params={{ name: repo.name }}
          className="min-w-0 flex-1 truncate font-serif text-lead font-semibold before:absolute before:inset-0 before:rounded-2xl"
        >
          {repo.name}
        </Link>
        <RepoPhase repo={repo} />
      </div>
      <p className="truncate font-mono text-small text-soft" title={repo.source ?? undefined}>
        {repo.source ?? t('lives here')}
      </p>
      <p className="mt-auto flex flex-wrap gap-x-3 text-small text-faint">
        {repo.default_branch && <span>{repo.default_branch}</span>}
        {cards.length > 0 && (
          <span className="text-soft">{tn(cards.length, '{n} open task', '{n} open tasks')}</span>
        )}
        {repo.synced_at && <span>{rich('synced {ago}', { ago: <Ago at={repo.synced_at} /> })}</span>}
      </p>
      {repo.note && <p className="text-small text-oxblood wrap-anywhere">{repo.note}</p>}
    </li>
  )
}

export function RepoPhase({ repo }: { repo: RepoView }) {
  return (
    <span data-phase={repo.phase}>
      <Chip tone={repo.phase === 'ready' ? 'lamp' : repo.phase === 'failed' ? 'bad' : 'brass'}>
        {worded(repo.phase)}
      </Chip>
    </span>
  )
}
