import { useQuery } from '@tanstack/react-query'
import { useLive } from '../api/live'
import { providers } from '../api/queries'
import { BreakerNotice } from '../sandbox/BreakerNotice'

/** News that concerns every page: the server is going away, or a provider is. */
export function Banner() {
  const { isDraining } = useLive()
  const troubled = (useQuery(providers).data ?? []).filter((it) => it.breaker.state !== 'closed')
  if (!isDraining && troubled.length === 0) return null
  return (
    <div className="mb-6 space-y-2">
      {isDraining && (
        <div role="status" className="rounded-xl border border-brass/40 bg-brass-wash px-4 py-3">
          <span className="font-medium text-brass">The server is going down for a moment.</span>{' '}
          <span className="text-small text-soft">
            Sandboxes stay as they are; this page comes back by itself.
          </span>
        </div>
      )}
      {troubled.map((provider) => (
        <BreakerNotice key={provider.name} provider={provider} />
      ))}
    </div>
  )
}
