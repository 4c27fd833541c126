/** What runs on a port inside, seen from here. It comes in a frame that has no way to this page. */
import { ExternalLink, RefreshCw } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { Button } from '../ui/Button'
import { Input } from '../ui/Field'
import { Empty } from '../ui/Small'
import { t } from '../words/words'

const USUAL = [3000, 5173, 8000, 8080]

export function Preview({ sandboxId }: { sandboxId: string }) {
  const [port, setPort] = useState('')
  const [shown, setShown] = useState<number>()
  const [round, setRound] = useState(0)
  const address = shown && `/api/v1/sandboxes/${encodeURIComponent(sandboxId)}/ports/${shown}/`
  const show = (wanted: number) => {
    if (!(wanted > 0 && wanted < 65_536)) return
    setPort(String(wanted))
    setShown(wanted)
    setRound(round + 1)
  }
  return (
    <section aria-label={t('Preview')} className="flex min-h-0 flex-1 flex-col">
      <form
        className="flex h-11 shrink-0 items-center gap-2 border-b border-line px-3"
        onSubmit={(event: FormEvent) => {
          event.preventDefault()
          show(Number(port))
        }}
      >
        <label htmlFor="preview-port" className="flex items-center gap-2 text-small text-soft">
          {t('Port')}
          <Input
            id="preview-port"
            value={port}
            inputMode="numeric"
            placeholder="3000"
            onChange={(event) => setPort(event.target.value)}
            className="h-8 w-20"
          />
        </label>
        <Button type="submit" className="h-8" icon={shown ? <RefreshCw /> : undefined}>
          {shown ? t('Again') : t('Show')}
        </Button>
        {address && (
          <a
            href={address}
            target="_blank"
            rel="noreferrer"
            className="ml-auto inline-flex items-center gap-1.5 text-small text-soft hover:text-ink"
          >
            <ExternalLink aria-hidden className="size-3.5" /> {t('In a tab of its own')}
          </a>
        )}
      </form>
      {address ? (
        <iframe
          key={round}
          title={t('Port {shown} of the sandbox', { shown })}
          src={address}
          sandbox="allow-scripts allow-forms allow-popups allow-modals allow-downloads"
          className="min-h-64 flex-1 bg-white"
        />
      ) : (
        <Empty title={t('A window into the sandbox')}>
          <p>{t('Every desk has all ports to itself. Which one should be shown?')}</p>
          <div className="flex justify-center gap-2">
            {USUAL.map((it) => (
              <Button key={it} onClick={() => show(it)}>
                {it}
              </Button>
            ))}
          </div>
        </Empty>
      )}
    </section>
  )
}
