import type { ProviderView } from '../api/types'
import { cx } from '../ui/cx'
import { Until } from '../ui/Moments'
import { rich, t, tn } from '../words/words'

/** Where a provider's circuit breaker stands, in words. Says nothing while all is well. */
export function BreakerNotice({ provider }: { provider: ProviderView }) {
  const { state, failures, retry_at, last_error } = provider.breaker
  if (state === 'closed') return null
  const isOpen = state === 'open'
  return (
    <div
      role="status"
      className={cx(
        'flex flex-wrap items-baseline gap-x-3 gap-y-1 rounded-xl border px-4 py-3',
        isOpen ? 'border-oxblood/40 bg-oxblood-wash' : 'border-brass/40 bg-brass-wash',
      )}
    >
      <p className={cx('font-medium', isOpen ? 'text-oxblood' : 'text-brass')}>
        {isOpen
          ? t('Provider {name} is unavailable', { name: provider.name })
          : t('Provider {name} is being tried again', { name: provider.name })}
      </p>
      <p className="text-small text-soft">
        {tn(failures, '{n} failure in a row', '{n} failures in a row')}
        {isOpen && retry_at && <> {rich('· next try in {until}', { until: <Until at={retry_at} /> })}</>}
      </p>
      {last_error && <p className="basis-full font-mono text-small text-ink wrap-anywhere">{last_error}</p>}
    </div>
  )
}
