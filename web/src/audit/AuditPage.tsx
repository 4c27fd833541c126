/** The audit: who did what, and who was turned away. Newest first. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { say } from '../api/problem'
import { audit } from '../api/queries'
import type { AuditView } from '../api/types'
import { Button } from '../ui/Button'
import { Input } from '../ui/Field'
import { Ago } from '../ui/Moments'
import { Segments } from '../ui/Segments'
import { Chip, Empty, PageHead, Skeleton, Trouble } from '../ui/Small'
import { worded } from '../words/enums'
import { t } from '../words/words'

const route = getRouteApi('/frame/audit')

export function AuditPage() {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const pages = useInfiniteQuery(audit(search))
  const items = pages.data?.pages.flatMap((page) => page.items) ?? []

  return (
    <>
      <title>{t('Audit · Carrel')}</title>
      <PageHead title={t('Audit')} lead={t('Who did what, and who was turned away.')} />
      <div className="mb-3 flex flex-wrap items-center gap-x-4 gap-y-2.5">
        <Segments
          label={t('Outcome')}
          value={search.outcome ?? 'all'}
          options={[
            { value: 'all', label: t('All') },
            { value: 'done', label: t('Done') },
            { value: 'denied', label: t('Denied') },
          ]}
          onChange={(outcome) =>
            void navigate({
              search: ({ outcome: _, ...rest }) => (outcome === 'all' ? rest : { ...rest, outcome }),
              replace: true,
            })
          }
        />
        <Input
          type="search"
          aria-label={t('Filter by action')}
          placeholder={t('Action, such as sandbox.create')}
          list="actions"
          defaultValue={search.action ?? ''}
          onChange={(event) => {
            const action = event.target.value.trim()
            void navigate({
              search: ({ action: _, ...rest }) => (action ? { ...rest, action } : rest),
              replace: true,
            })
          }}
          className="min-w-40 flex-1 sm:max-w-72"
        />
        <datalist id="actions">
          {[...new Set(items.map((item) => item.action))].map((action) => (
            <option key={action} value={action} />
          ))}
        </datalist>
      </div>

      {pages.isPending && <Skeleton className="h-64 w-full" />}
      {pages.isError && <Trouble title={t('The audit could not be read')} detail={say(pages.error)} />}
      {pages.isSuccess && items.length === 0 && (
        <Empty title={t('Nothing to show')}>
          <p>{t('No entry matches.')}</p>
        </Empty>
      )}
      {items.length > 0 && (
        <ol
          aria-label={t('Audit')}
          className="divide-y divide-line overflow-hidden rounded-2xl border border-line bg-card shadow-card"
        >
          {items.map((item) => (
            <Item key={item.id} item={item} />
          ))}
        </ol>
      )}
      {pages.hasNextPage && (
        <div className="mt-4 text-center">
          <Button isBusy={pages.isFetchingNextPage} onClick={() => void pages.fetchNextPage()}>
            {t('Load more')}
          </Button>
        </div>
      )}
    </>
  )
}

function Item({ item }: { item: AuditView }) {
  return (
    <li className="grid grid-cols-[minmax(0,1fr)_auto] items-baseline gap-x-4 gap-y-0.5 px-4 py-2.5 sm:grid-cols-[6.5rem_minmax(0,11rem)_minmax(0,1fr)_auto]">
      <span className="text-small text-faint max-sm:order-2">
        <Ago at={item.at} />
      </span>
      <span className="truncate max-sm:order-1">
        {item.actor.name}{' '}
        {item.actor.role && <span className="text-small text-faint">{worded(item.actor.role)}</span>}
      </span>
      <span className="min-w-0 wrap-anywhere max-sm:order-3">
        <span className="font-mono text-small font-medium">{item.action}</span>
        {item.subject && <span className="font-mono text-small text-soft"> {item.subject}</span>}
        {item.detail && <span className="block font-serif text-small italic text-soft">{item.detail}</span>}
      </span>
      <span className="flex items-baseline justify-end gap-2 max-sm:order-last">
        {item.origin && <span className="font-mono text-tiny text-faint">{item.origin}</span>}
        <Chip tone={item.outcome === 'denied' ? 'bad' : 'lamp'}>{worded(item.outcome)}</Chip>
      </span>
    </li>
  )
}
