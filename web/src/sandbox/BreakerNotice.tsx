import type { ProviderView } from '../api/types'
import { cx } from '../ui/cx'
import { Until } from '../ui/Moments'

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
          ? `Provider ${provider.name} is unavailable`
          : `Provider ${provider.name} is being tried again`}
      </p>
      <p className="text-small text-soft">
        {failures} {failures === 1 ? 'failure' : 'failures'} in a row
        {isOpen && retry_at && (
          <>
            {' '}
            · next try in <Until at={retry_at} />
          </>
        )}
      </p>
      {last_error && <p className="basis-full font-mono text-small text-ink wrap-anywhere">{last_error}</p>}
    </div>
  )
}
