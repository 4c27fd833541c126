import { Dialog, DialogBody } from '../ui/Dialog'
import { Kbd } from '../ui/Small'
import { t } from '../words/words'
import { PLACES } from './places'

const KEYS: readonly [string, readonly [string[], string][]][] = [
  [
    t('Everywhere'),
    [
      [['Ctrl', 'K'], t('Find anything, do anything')],
      [['c'], t('New task')],
      [['?'], t('This page')],
      [['Esc'], t('Clear, close, leave')],
    ],
  ],
  [
    t('Board and lists'),
    [
      [['n'], t('New task, or new sandbox among the sandboxes')],
      [['/'], t('Filter')],
      [['↑', '↓', '←', '→'], t('Move between cards')],
      [['Enter'], t('Open')],
      [['.'], t('What can be done with this card')],
      [['s'], t('Start, or try again')],
      [['x'], t('Select the card')],
      [['Ctrl', 'Enter'], t('Send, in a dialog or the composer')],
    ],
  ],
  [
    t('A task'),
    [
      [['1', '–', '7'], t('Diff, terminal, preview, files, network, logs, details')],
      [['r'], t('Write to the agent')],
      [['j', 'k'], t('Next and previous file of a diff')],
    ],
  ],
]

export function Help({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title={t('By keyboard')}>
      <DialogBody isOnlyRead>
        {KEYS.map(([where, keys]) => (
          <section key={where} className="mb-4">
            <h3 className="text-small text-faint">{where}</h3>
            <dl className="divide-y divide-line">
              {keys.map(([strokes, meaning]) => (
                <div key={meaning} className="flex items-center justify-between gap-4 py-1.5">
                  <dt>{meaning}</dt>
                  <dd className="flex shrink-0 gap-1">
                    {strokes.map((stroke) => (
                      <Kbd key={stroke}>{stroke}</Kbd>
                    ))}
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
        <section>
          <h3 className="text-small text-faint">{t('Go to')}</h3>
          <dl className="grid grid-cols-2 gap-x-8">
            {PLACES.map((place) => (
              <div key={place.to} className="flex items-center justify-between border-b border-line py-1.5">
                <dt>{place.label}</dt>
                <dd className="flex gap-1">
                  <Kbd>g</Kbd>
                  <Kbd>{place.key}</Kbd>
                </dd>
              </div>
            ))}
          </dl>
        </section>
      </DialogBody>
    </Dialog>
  )
}
