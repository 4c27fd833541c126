/** A button that opens VS Code at the desk: in the browser where the template has it, from one's own machine else. */
import { Code } from 'lucide-react'
import { useState } from 'react'
import { say } from '../api/problem'
import { Button } from '../ui/Button'
import { Copy } from '../ui/Copy'
import { Dialog, DialogBody } from '../ui/Dialog'
import { toast } from '../ui/Toast'
import { t } from '../words/words'
import { findEditor, openEditor } from './editor'

interface EditorButtonProps {
  sandboxId: string
  /** What ssh calls this desk, after `carrel-`: a task's desk keeps its name when it is made anew. */
  host?: string | undefined
  /** What is opened inside. */
  folder: string
  /** How the work is fetched by git, where there is a branch. */
  fetch?: string | undefined
  isSmall?: boolean
}

export function EditorButton({
  sandboxId,
  host = sandboxId,
  folder,
  fetch,
  isSmall = false,
}: EditorButtonProps) {
  const [isBusy, setBusy] = useState(false)
  const [isAbsent, setAbsent] = useState(false)
  const open = async () => {
    setBusy(true)
    // Opened at once: a tab that is opened later, after an answer, is taken for an advertisement.
    const tab = window.open('', '_blank')
    try {
      const program = await findEditor(sandboxId)
      if (!program) {
        tab?.close()
        setAbsent(true)
        return
      }
      const address = await openEditor(sandboxId, program, folder)
      if (tab) {
        tab.opener = null
        tab.location.replace(address)
      } else window.location.assign(address)
    } catch (error) {
      tab?.close()
      toast(t('The editor could not be opened'), say(error), 'bad')
    } finally {
      setBusy(false)
    }
  }
  return (
    <>
      <Button isSmall={isSmall} icon={<Code />} isBusy={isBusy} onClick={() => void open()}>
        {t('VS Code')}
      </Button>
      <Dialog
        isOpen={isAbsent}
        onClose={() => setAbsent(false)}
        title={t('This desk has no editor')}
        lead={t('Its template has neither code-server nor openvscode-server. There are other ways in.')}
      >
        <DialogBody>
          <ol className="space-y-4">
            <Way title={t('VS Code on your machine, by Remote-SSH: once')}>
              {'carrel ssh-config >> ~/.ssh/config'}
            </Way>
            <Way title={t('and then, here and for every desk')}>
              {`code --remote ssh-remote+carrel-${host} ${folder}`}
            </Way>
            <Way title={t('A terminal on your machine')}>{`carrel sandbox shell ${sandboxId}`}</Way>
            {fetch && <Way title={t('The branch in your own checkout, and your own editor')}>{fetch}</Way>}
            <Way title={t('A file there and back')}>{`carrel sandbox cp ${sandboxId}:${folder}/FILE .`}</Way>
          </ol>
          <p className="mt-5 text-small text-soft">
            {t(
              'Remote-SSH wants an ssh server in the template: openssh-server or dropbear-bin. To have this button open VS Code in the browser, put code-server or openvscode-server into the template.',
            )}
          </p>
        </DialogBody>
      </Dialog>
    </>
  )
}

function Way({ title, children }: { title: string; children: string }) {
  return (
    <li>
      <p className="mb-1 text-small text-soft">{title}</p>
      <div className="flex items-center gap-1 rounded-lg border border-line bg-card pl-3">
        <code className="min-w-0 flex-1 overflow-x-auto py-1.5 font-mono text-small whitespace-pre">
          {children}
        </code>
        <Copy text={children} label={t('Copy the command')} />
      </div>
    </li>
  )
}
