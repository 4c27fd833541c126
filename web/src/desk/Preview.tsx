/**
 * What runs on a port inside, seen from here: in a frame with an origin of its own, that has no way to this page.
 *
 * It comes under the port's own name, by a pass that is good for that port alone. Where there are no such names it comes by
 * path, kept apart from us by the browser; then a page is shown, but not what it loads, and the frame says so.
 */
import { useQuery } from '@tanstack/react-query'
import { ExternalLink, RefreshCw } from 'lucide-react'
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { Refusal, say } from '../api/problem'
import { Button } from '../ui/Button'
import { Input } from '../ui/Field'
import { Command, Empty, Skeleton, Trouble } from '../ui/Small'
import { toast } from '../ui/Toast'
import { t } from '../words/words'
import { portLink } from './editor'
import { afterLoad, type FrameState, heard } from './frame'

const USUAL = [3000, 5173, 8000, 8080]

/** What a page from inside may do. Its origin is never ours: by its own name it has another one, by path it has none. */
const MAY = 'allow-scripts allow-forms allow-popups allow-modals allow-downloads'

/** How long a word of the threshold may be on its way when the frame is there already. */
const GRACE_MS = 1_500

export function Preview({ sandboxId }: { sandboxId: string }) {
  const [port, setPort] = useState('')
  const [shown, setShown] = useState<number>()
  const [round, setRound] = useState(0)
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
            className="h-8! w-20!"
          />
        </label>
        <Button type="submit" isSmall icon={shown ? <RefreshCw /> : undefined}>
          {shown ? t('Again') : t('Show')}
        </Button>
        {shown && (
          <button
            type="button"
            onClick={() => void openInTab(sandboxId, shown)}
            className="ml-auto inline-flex items-center gap-1.5 text-small text-soft hover:text-ink"
          >
            <ExternalLink aria-hidden className="size-3.5" /> {t('In a tab of its own')}
          </button>
        )}
      </form>
      {shown ? (
        <Port
          key={`${sandboxId} ${shown} ${round}`}
          sandboxId={sandboxId}
          port={shown}
          round={round}
          onAgain={() => setRound(round + 1)}
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

interface PortProps {
  sandboxId: string
  port: number
  round: number
  onAgain(): void
}

function Port({ sandboxId, port, round, onAgain }: PortProps) {
  // A link works once: it is asked for anew each time, and never by itself.
  const link = useQuery({
    queryKey: ['port-link', sandboxId, port, round],
    queryFn: async () => (await portLink(sandboxId, port, 'frame')) ?? null,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
    refetchOnReconnect: false,
    refetchOnWindowFocus: false,
  })
  const again = <Button onClick={onAgain}>{t('Try again')}</Button>
  if (link.isPending)
    return (
      <div role="status" aria-label={t('Loading')} className="flex-1 p-4">
        <Skeleton className="h-full min-h-64" />
      </div>
    )
  if (link.isError && isNameless(link.error))
    return (
      <ByPath sandboxId={sandboxId} port={port}>
        {t('This server is called by an address, and only a name has room for the names of ports.')}
      </ByPath>
    )
  if (link.isError)
    return (
      <div className="p-4">
        <Trouble title={t('Port {port} could not be shown', { port })} detail={say(link.error)}>
          {again}
        </Trouble>
      </div>
    )
  if (link.data === null)
    return (
      <Empty title={t('Nothing listens on port {port}', { port })}>
        <p>{t('Start what should be seen there, in the terminal or by asking the agent, and look again.')}</p>
        <div>{again}</div>
      </Empty>
    )
  return <ByName sandboxId={sandboxId} port={port} address={link.data} />
}

/** Under its own name. The threshold there says whether the browser keeps the pass. */
function ByName({ sandboxId, port, address }: { sandboxId: string; port: number; address: string }) {
  const frame = useRef<HTMLIFrameElement>(null)
  const [state, setState] = useState<FrameState>('coming')
  const { origin, hostname } = new URL(address)
  useEffect(() => {
    const hear = (event: MessageEvent) => {
      if (event.source !== frame.current?.contentWindow || event.origin !== origin) return
      const told = heard(event.data)
      if (told) setState(told)
    }
    window.addEventListener('message', hear)
    return () => window.removeEventListener('message', hear)
  }, [origin])
  const grace = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(grace.current), [])
  if (state === 'forgetful')
    return (
      <ByPath sandboxId={sandboxId} port={port}>
        {t('This browser keeps no cookie for {name} in a frame, so the port cannot know you there.', {
          name: hostname,
        })}
      </ByPath>
    )
  return (
    <>
      {state === 'nameless' && (
        <Notice sandboxId={sandboxId} port={port}>
          {t('Nothing was heard from {name}. If the frame is empty, this machine does not know that name.', {
            name: hostname,
          })}
        </Notice>
      )}
      <iframe
        ref={frame}
        data-preview={state}
        title={t('Port {shown} of the sandbox', { shown: port })}
        src={address}
        sandbox={`${MAY} allow-same-origin`}
        onLoad={() => {
          grace.current = setTimeout(() => setState(afterLoad), GRACE_MS)
        }}
        className="min-h-64 flex-1 bg-white"
      />
    </>
  )
}

/** Where there is no name for it. */
function ByPath({ sandboxId, port, children }: { sandboxId: string; port: number; children: ReactNode }) {
  return (
    <>
      <Notice sandboxId={sandboxId} port={port}>
        {children} {t('So the page is shown, but neither its styles nor its scripts or what it asks for.')}
      </Notice>
      <iframe
        data-preview="by-path"
        title={t('Port {shown} of the sandbox', { shown: port })}
        src={pathOf(sandboxId, port)}
        sandbox={MAY}
        className="min-h-64 flex-1 bg-white"
      />
    </>
  )
}

/** Why it is not whole, and the way that works everywhere. */
function Notice({ sandboxId, port, children }: { sandboxId: string; port: number; children: ReactNode }) {
  return (
    <div
      role="status"
      className="shrink-0 space-y-2 border-b border-brass/40 bg-brass-wash px-4 py-2.5 text-small text-ink"
    >
      <p>{children}</p>
      <p>
        {t('The whole of it comes to your own machine at http://127.0.0.1:{port}, with this command there:', {
          port,
        })}
      </p>
      <Command>{`carrel sandbox forward ${sandboxId} ${port}`}</Command>
    </div>
  )
}

const pathOf = (sandboxId: string, port: number) =>
  `/api/v1/sandboxes/${encodeURIComponent(sandboxId)}/ports/${port}/`

/** Whether ports have no names where this server is called by. The server's hint names the setting that gives them one. */
const isNameless = (error: unknown) =>
  error instanceof Refusal && error.status === 409 && (error.hint?.includes('sandbox_domain') ?? false)

async function openInTab(sandboxId: string, port: number): Promise<void> {
  // Opened at once: a tab that is opened later, after an answer, is taken for an advertisement.
  const tab = window.open('', '_blank')
  try {
    const address = await portLink(sandboxId, port).catch((error: unknown) => {
      if (isNameless(error)) return pathOf(sandboxId, port)
      throw error
    })
    if (!address) throw new Error(t('Nothing listens on port {port}', { port }))
    if (tab) {
      tab.opener = null
      tab.location.replace(address)
    } else window.location.assign(address)
  } catch (error) {
    tab?.close()
    toast(t('The port could not be opened'), say(error), 'bad')
  }
}
