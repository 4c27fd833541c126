/** A pull that lives here. When it is a task's, the task's page is where it is read and merged. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, Navigate } from '@tanstack/react-router'
import { Refusal, say } from '../api/problem'
import { Said } from '../review/Said'
import { Prose } from '../talk/Prose'
import { Button } from '../ui/Button'
import { Copy } from '../ui/Copy'
import { Ago } from '../ui/Moments'
import { Chip, Empty, Skeleton, Trouble } from '../ui/Small'
import { worded } from '../words/enums'
import { rich, t } from '../words/words'
import { comments, pull as pullQuery, reviews } from './queries'

const route = getRouteApi('/frame/pulls/$repo/$number')

export function PullPage() {
  const { repo, number } = route.useParams()
  const { data: pull, error, refetch } = useQuery(pullQuery(repo, Number(number)))
  const { data: remarks } = useQuery({ ...comments(repo, Number(number)), enabled: Boolean(pull) })
  const { data: verdicts } = useQuery({ ...reviews(repo, Number(number)), enabled: Boolean(pull) })
  if (pull?.task_id != null)
    return <Navigate to="/tasks/$id" params={{ id: String(pull.task_id) }} search={{ tab: 'diff' }} replace />
  if (pull) {
    const fetch = `git fetch ${window.location.origin}/git/${pull.repo}.git ${pull.head}`
    return (
      <article className="mx-auto max-w-3xl">
        <title>{t('#{number} {title} · Carrel', { number: pull.number, title: pull.title })}</title>
        <p className="mb-1 text-small text-soft">
          <Link
            to="/repos/$name"
            params={{ name: pull.repo }}
            className="text-lamp underline underline-offset-4"
          >
            {pull.repo}
          </Link>{' '}
          · <span className="font-mono">{pull.head}</span> → <span className="font-mono">{pull.base}</span>
        </p>
        <h1 className="flex flex-wrap items-center gap-3 text-display">
          {pull.title} <Chip>#{pull.number}</Chip> <Chip tone="lamp">{worded(pull.phase)}</Chip>
        </h1>
        <p className="mt-1 text-small text-soft">
          {rich('{author} opened it {ago}.', {
            author: <span className="font-medium text-ink">{pull.author}</span>,
            ago: <Ago at={pull.created_at} />,
          })}
        </p>
        <div className="mt-4 overflow-hidden rounded-2xl border border-line bg-card shadow-card">
          <Said remarks={remarks ?? []} reviews={verdicts ?? []} />
          <div className="px-5 py-4">
            {pull.body ? (
              <Prose text={pull.body} />
            ) : (
              <p className="text-soft">{t('Nothing was written about it.')}</p>
            )}
          </div>
          <p className="flex items-center gap-1 border-t border-line bg-paper px-5 py-1.5">
            <code className="min-w-0 flex-1 truncate font-mono text-small text-soft">{fetch}</code>
            <Copy text={fetch} label={t('Copy the command')} />
          </p>
        </div>
      </article>
    )
  }
  const isNone = error instanceof Refusal && [400, 404, 422].includes(error.status)
  if (error && !isNone)
    return (
      <>
        <title>Carrel</title>
        <Trouble title={t('The pull request could not be read')} detail={say(error)}>
          <Button onClick={() => void refetch()}>{t('Try again')}</Button>
        </Trouble>
      </>
    )
  if (error)
    return (
      <Empty title={t('No such pull request')}>
        <title>{t('No such pull request · Carrel')}</title>
        <p>{say(error)}</p>
      </Empty>
    )
  return (
    <div role="status" aria-label={t('Loading')}>
      <title>Carrel</title>
      <Skeleton className="h-40 rounded-2xl" />
    </div>
  )
}
