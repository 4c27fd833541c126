/** What this desk wanted to reach and was not let through to, and how to let it. */
import { useQuery } from '@tanstack/react-query'
import { callJson } from '../api/call'
import { say } from '../api/problem'
import type { SandboxView } from '../api/types'
import { Button } from '../ui/Button'
import { Copy } from '../ui/Copy'
import { Ago } from '../ui/Moments'
import { Chip } from '../ui/Small'
import { t } from '../words/words'
import { allowLine, canAllow, isAllowed, useAllow } from './allow'

interface RefusedHost {
  host: string
  port?: number | null
  /** In a sentence. */
  why: string
  times: number
  at: string
}

/** Refusals are not told by the stream: who looks at them asks again. */
const LOOK_MS = 3_000

export function Refused({ sandbox }: { sandbox: SandboxView }) {
  const { data } = useQuery({
    queryKey: ['refused', sandbox.id],
    queryFn: () =>
      callJson<{ items: RefusedHost[] }>(`/api/v1/sandboxes/${encodeURIComponent(sandbox.id)}/refused`),
    refetchInterval: LOOK_MS,
  })
  const items = data?.items ?? []
  if (items.length === 0) return null
  return (
    <div>
      <h2 className="text-lead">{t('Turned away')}</h2>
      <p className="text-soft">{t('What it wanted to reach, and was not let through to.')}</p>
      <ul aria-label={t('Refused hosts')} className="mt-1 divide-y divide-line">
        {items.map((it) => (
          <Host key={`${it.host}:${it.port ?? ''}`} refused={it} sandbox={sandbox} />
        ))}
      </ul>
    </div>
  )
}

function Host({ refused, sandbox }: { refused: RefusedHost; sandbox: SandboxView }) {
  const { host, port, why, times, at } = refused
  const allow = useAllow(sandbox)
  const isLetThrough = isAllowed(host, sandbox.network.allow)
  const command = allowLine(sandbox, host)
  return (
    <li data-refused={host} className="py-2.5">
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <bdi className="min-w-0 font-mono text-small wrap-anywhere">
          {host}
          {port != null && <span className="text-faint">:{port}</span>}
        </bdi>
        {times > 1 && <span className="text-small text-faint">×{times}</span>}
        <span className="text-small text-faint">
          <Ago at={at} />
        </span>
        <span className="ml-auto flex shrink-0 items-center gap-1">
          {isLetThrough ? (
            <Chip tone="lamp">{t('allowed now')}</Chip>
          ) : (
            canAllow(sandbox) && (
              <>
                <Copy text={command} label={t('Copy the command that allows {host}', { host })} />
                <Button
                  isSmall
                  aria-label={t('Allow {host}', { host })}
                  title={command}
                  isBusy={allow.isPending}
                  onClick={() => allow.mutate(host)}
                >
                  {t('Allow')}
                </Button>
              </>
            )
          )}
        </span>
      </div>
      <p className="text-small text-soft wrap-anywhere">{allow.isError ? say(allow.error) : why}</p>
    </li>
  )
}
