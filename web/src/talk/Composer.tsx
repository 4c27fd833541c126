/** Where one writes to an agent. What is said in the middle of a turn is read after it; files are put on its desk. */
import { Paperclip, SendHorizontal, Square, X, Zap } from 'lucide-react'
import { type Ref, useRef, useState } from 'react'
import { say } from '../api/problem'
import { write } from '../desk/files'
import { Button, IconButton } from '../ui/Button'
import { cx } from '../ui/cx'
import { toast } from '../ui/Toast'
import { t } from '../words/words'
import { apart } from './apart'

interface ComposerProps {
  /** Whose it is. What was written and not sent is there again when one comes back in this window. */
  name: string
  placeholder: string
  isBusy: boolean
  /** Where attachments are put; without a desk there are none. */
  sandboxId: string | null | undefined
  folder?: string
  isRaised?: boolean
  disabledBecause?: string | undefined
  /** Answers whether it was taken. */
  onSend(text: string): Promise<boolean>
  /** The same without waiting for the turn to end, where a turn can be broken off. */
  onSendNow?: ((text: string) => Promise<boolean>) | undefined
  /** Breaks the turn off and says nothing, where that can be done here. */
  onStop?: (() => Promise<boolean>) | undefined
  ref?: Ref<HTMLTextAreaElement>
}

const ATTACHMENTS = '/tmp/attachments'

export function Composer({
  name,
  placeholder,
  isBusy,
  sandboxId,
  folder = ATTACHMENTS,
  isRaised,
  disabledBecause,
  onSend,
  onSendNow,
  onStop,
  ref,
}: ComposerProps) {
  const [text, setText] = useDraft(name)
  const [files, setFiles] = useState<File[]>([])
  const [isOver, setOver] = useState(false)
  const [isSending, setSending] = useState(false)
  const [isStopping, setStopping] = useState(false)
  const picker = useRef<HTMLInputElement>(null)

  const attach = (more: Iterable<File>) => setFiles((now) => apart([...now, ...more]))
  const canAttach = Boolean(sandboxId) && !disabledBecause

  const send = async (how: (text: string) => Promise<boolean> = onSend) => {
    const words = text.trim()
    if ((!words && files.length === 0) || isSending || disabledBecause) return
    setSending(true)
    try {
      const paths: string[] = []
      if (sandboxId) {
        for (const file of files) {
          const path = `${folder}/${file.name}`
          await write(sandboxId, path, file)
          paths.push(path)
        }
      }
      const attached = paths.length > 0 ? `\n\nAttached:\n${paths.map((path) => `- ${path}`).join('\n')}` : ''
      if (await how(`${words}${attached}`.trim())) {
        setText('')
        setFiles([])
      }
    } catch (error) {
      toast(t('The attachment could not be put on the desk'), say(error), 'bad')
    } finally {
      setSending(false)
    }
  }

  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void send()
      }}
      onDragOver={(event) => {
        if (!canAttach || !event.dataTransfer.types.includes('Files')) return
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        setOver(false)
        if (!canAttach || event.dataTransfer.files.length === 0) return
        event.preventDefault()
        attach(event.dataTransfer.files)
      }}
      className={cx(
        'shrink-0 border-t p-3',
        isRaised ? 'border-brass/60' : 'border-line',
        isOver ? 'bg-lamp-wash' : 'bg-paper',
      )}
    >
      {files.length > 0 && (
        <ul aria-label={t('Attachments')} className="mb-2 flex flex-wrap gap-1.5">
          {files.map((file) => (
            <li key={file.name} className="flex items-center gap-1 rounded-md bg-well pl-2 text-small">
              {file.name}
              <IconButton
                label={t('Leave out {name}', { name: file.name })}
                className="size-6"
                onClick={() => setFiles(files.filter((it) => it !== file))}
              >
                <X />
              </IconButton>
            </li>
          ))}
        </ul>
      )}
      <div className="flex items-end gap-2 rounded-xl border border-line-strong/60 bg-card p-1.5 focus-within:border-lamp">
        {sandboxId && (
          <>
            <input
              ref={picker}
              type="file"
              multiple
              hidden
              aria-label={t('Files to attach')}
              onChange={(event) => {
                attach(event.target.files ?? [])
                event.target.value = ''
              }}
            />
            <IconButton label={t('Attach files')} onClick={() => picker.current?.click()}>
              <Paperclip />
            </IconButton>
          </>
        )}
        <textarea
          ref={ref}
          rows={1}
          aria-label={t('Message to the agent')}
          placeholder={disabledBecause ?? placeholder}
          disabled={Boolean(disabledBecause)}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onPaste={(event) => {
            // A picture of what is wrong says more than a sentence.
            if (!canAttach || event.clipboardData.files.length === 0) return
            event.preventDefault()
            attach(event.clipboardData.files)
          }}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) {
              event.preventDefault()
              const isUrgent = (event.ctrlKey || event.metaKey) && isBusy
              void send(isUrgent ? onSendNow : undefined)
            }
            if (event.key === 'Escape') event.currentTarget.blur()
          }}
          className="field-sizing-content max-h-48 min-h-8 min-w-0 flex-1 resize-none bg-transparent px-2 py-1.5 leading-5.5 outline-none disabled:opacity-60"
        />
        {isBusy && onStop && !disabledBecause && !text.trim() && files.length === 0 && (
          <Button
            isSmall
            icon={<Square />}
            isBusy={isStopping}
            title={t('Breaks off what the agent is doing; what it did so far stays')}
            onClick={() => {
              setStopping(true)
              void onStop().finally(() => setStopping(false))
            }}
          >
            <span className="max-sm:sr-only">{t('Stop')}</span>
          </Button>
        )}
        {isBusy && onSendNow && !disabledBecause && (text.trim() || files.length > 0) && (
          <Button
            isSmall
            icon={<Zap />}
            disabled={isSending}
            title={t('Breaks off what the agent is doing; what it did so far stays (Ctrl+Enter)')}
            onClick={() => void send(onSendNow)}
          >
            <span className="max-sm:sr-only">{t('Now')}</span>
          </Button>
        )}
        <Button
          type="submit"
          tone="primary"
          isSmall
          icon={<SendHorizontal />}
          isBusy={isSending}
          disabled={(!text.trim() && files.length === 0) || Boolean(disabledBecause)}
        >
          <span className="max-sm:sr-only">{isBusy ? t('After this turn') : t('Send')}</span>
        </Button>
      </div>
    </form>
  )
}

/** What is being written, kept in this window until it is sent. */
function useDraft(name: string): [string, (text: string) => void] {
  const key = `carrel.draft.${name}`
  const [text, setText] = useState(() => sessionStorage.getItem(key) ?? '')
  const keep = (next: string) => {
    setText(next)
    if (next) sessionStorage.setItem(key, next)
    else sessionStorage.removeItem(key)
  }
  return [text, keep]
}
