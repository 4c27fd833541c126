import { Dialog, DialogBody } from '../ui/Dialog'
import { Kbd } from '../ui/Small'

const KEYS: readonly [string[], string][] = [
  [['n'], 'New sandbox'],
  [['/'], 'Filter the list'],
  [['↑', '↓'], 'Move between sandboxes'],
  [['Enter'], 'Open the sandbox'],
  [['Ctrl', 'Enter'], 'Create, in the dialog'],
  [['Esc'], 'Clear, close, leave'],
  [['?'], 'This page'],
]

export function Help({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title="By keyboard">
      <DialogBody>
        <dl className="divide-y divide-line">
          {KEYS.map(([keys, meaning]) => (
            <div key={meaning} className="flex items-center justify-between py-2">
              <dt>{meaning}</dt>
              <dd className="flex gap-1">
                {keys.map((key) => (
                  <Kbd key={key}>{key}</Kbd>
                ))}
              </dd>
            </div>
          ))}
        </dl>
      </DialogBody>
    </Dialog>
  )
}
