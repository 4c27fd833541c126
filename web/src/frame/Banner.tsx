import { useQuery } from '@tanstack/react-query'
import { useLive } from '../api/live'
import { providers } from '../api/queries'
import { BreakerNotice } from '../sandbox/BreakerNotice'
import { useReading } from '../ui/clock'
import { clock } from '../ui/time'
import { t } from '../words/words'

/** A hiccup is not worth a word. */
const PATIENCE_MS = 4_000

/** News that concerns every page: the server is going away or cannot be reached, or a provider is. */
export function Banner() {
  const { isDraining, silentSince } = useLive()
  const isSilent = useReading(() => silentSince !== undefined && Date.now() - silentSince > PATIENCE_MS)
  const troubled = (useQuery(providers).data ?? []).filter((it) => it.breaker.state !== 'closed')
  if (!isDraining && !isSilent && troubled.length === 0) return null
  return (
    <div className="mb-6 space-y-2">
      {isSilent && !isDraining && (
        <div role="status" data-silent className="rounded-xl border border-brass/40 bg-brass-wash px-4 py-3">
          <span className="font-medium text-brass">
            {navigator.onLine ? t('The server cannot be reached.') : t('This machine is offline.')}
          </span>{' '}
          <span className="text-small text-soft">
            {t(
              'What you see was true at {clock}. It comes back by itself, and nothing that happens meanwhile is missed.',
              { clock: clock(silentSince ?? 0) },
            )}
          </span>
        </div>
      )}
      {isDraining && (
        <div role="status" className="rounded-xl border border-brass/40 bg-brass-wash px-4 py-3">
          <span className="font-medium text-brass">{t('The server is going down for a moment.')}</span>{' '}
          <span className="text-small text-soft">
            {t('Sandboxes stay as they are; this page comes back by itself.')}
          </span>
        </div>
      )}
      {troubled.map((provider) => (
        <BreakerNotice key={provider.name} provider={provider} />
      ))}
    </div>
  )
}
