/** A pull: what it changes, what is said of it, and what keeps it from being merged. A task's is read at the task's page. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Navigate } from '@tanstack/react-router'
import { Refusal, say } from '../api/problem'
import { Button } from '../ui/Button'
import { HalvesComing } from '../ui/Halves'
import { Empty, Trouble } from '../ui/Small'
import { t } from '../words/words'
import { OwnPull } from './OwnPull'
import { pull as pullQuery } from './queries'

const route = getRouteApi('/frame/pulls/$repo/$number')

export function PullPage() {
  const { repo, number } = route.useParams()
  const { data: pull, error, refetch } = useQuery(pullQuery(repo, Number(number)))
  if (pull?.task_id != null)
    return <Navigate to="/tasks/$id" params={{ id: String(pull.task_id) }} search={{ tab: 'diff' }} replace />
  if (pull) return <OwnPull pull={pull} />
  const isNone = error instanceof Refusal && [400, 404, 422].includes(error.status)
  if (error && !isNone)
    return (
      <div className="p-4 md:p-6">
        <title>Carrel</title>
        <Trouble title={t('The pull request could not be read')} detail={say(error)}>
          <Button onClick={() => void refetch()}>{t('Try again')}</Button>
        </Trouble>
      </div>
    )
  if (error)
    return (
      <Empty title={t('No such pull request')}>
        <title>{t('No such pull request · Carrel')}</title>
        <p>{say(error)}</p>
      </Empty>
    )
  return <HalvesComing />
}
