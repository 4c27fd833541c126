import type { Minted } from '../api/types'
import { Button } from '../ui/Button'
import { Copy } from '../ui/Copy'
import { Dialog, DialogBody, DialogFoot } from '../ui/Dialog'
import { t } from '../words/words'

/** The only time a secret is seen. A click beside it does not lose it. */
export function SecretDialog({ minted, onClose }: { minted: Minted | undefined; onClose(): void }) {
  return (
    <Dialog
      isOpen={minted !== undefined}
      onClose={onClose}
      canLeave={false}
      title={t('The secret of {name}', { name: minted?.key.name ?? '' })}
      lead={t('Put it where it belongs now. It is not shown again.')}
    >
      <DialogBody>
        {minted && !minted.secret && (
          <p className="text-soft">
            {t('It was shown when this was asked for the first time. Rotate the key for a new one.')}
          </p>
        )}
        <div
          hidden={!minted?.secret}
          className="flex items-center gap-2 rounded-xl border border-brass/50 bg-brass-wash py-2 pr-2 pl-4"
        >
          <code data-secret className="min-w-0 flex-1 font-mono text-small break-all">
            {minted?.secret}
          </code>
          <Copy text={minted?.secret ?? ''} label={t('Copy secret')} />
        </div>
      </DialogBody>
      <DialogFoot>
        <Button tone="primary" onClick={onClose}>
          {t('I have it')}
        </Button>
      </DialogFoot>
    </Dialog>
  )
}
