/** What can be done with a card, for hands that do not drag. */
import { useNavigate } from '@tanstack/react-router'
import { Ellipsis } from 'lucide-react'
import { DropdownMenu } from 'radix-ui'
import type { Task } from '../task/types'
import { possible, VERB_WORDS } from '../task/verbs'
import { menuItem, menuLook } from '../ui/menu'
import { t } from '../words/words'
import { useMoves } from './moves'

interface CardMenuProps {
  task: Task
  isOpen: boolean
  onOpen(isOpen: boolean): void
  /** Where the focus goes when the menu closes. */
  onClosed(): void
}

const button = 'grid size-6.5 place-items-center rounded-md text-faint hover:bg-well hover:text-ink'

/** A plain button until it is wanted: a menu per card is the dearest part of five hundred cards. */
export function CardMenu({ task, isOpen, onOpen, onClosed }: CardMenuProps) {
  const label = t('What can be done with task-{id}', { id: task.id })
  if (!isOpen) {
    return (
      <button
        type="button"
        aria-label={label}
        aria-haspopup="menu"
        className={button}
        onClick={() => onOpen(true)}
      >
        <Ellipsis aria-hidden className="size-4" />
      </button>
    )
  }
  return (
    <DropdownMenu.Root open onOpenChange={onOpen} modal={false}>
      <DropdownMenu.Trigger aria-label={label} className={button}>
        <Ellipsis aria-hidden className="size-4" />
      </DropdownMenu.Trigger>
      <Items task={task} onClosed={onClosed} />
    </DropdownMenu.Root>
  )
}

function Items({ task, onClosed }: { task: Task; onClosed(): void }) {
  const navigate = useNavigate()
  const { attempt } = useMoves()
  const open = (tab?: 'diff' | 'terminal') =>
    void navigate({ to: '/tasks/$id', params: { id: String(task.id) }, search: tab ? { tab } : {} })
  return (
    <DropdownMenu.Portal>
      <DropdownMenu.Content
        align="end"
        sideOffset={4}
        className={menuLook}
        onCloseAutoFocus={(event) => {
          event.preventDefault()
          onClosed()
        }}
        onPointerDown={(e) => e.stopPropagation()}
      >
        <DropdownMenu.Label className="px-2.5 py-1 font-mono text-tiny text-faint">
          {`task-${task.id}`}
        </DropdownMenu.Label>
        <DropdownMenu.Item className={menuItem} onSelect={() => open()}>
          {t('Open')}
        </DropdownMenu.Item>
        {(task.ahead ?? 0) > 0 && (
          <DropdownMenu.Item className={menuItem} onSelect={() => open('diff')}>
            {t('Read the diff')}
          </DropdownMenu.Item>
        )}
        {task.sandbox_id && (
          <DropdownMenu.Item className={menuItem} onSelect={() => open('terminal')}>
            {t('Open a terminal')}
          </DropdownMenu.Item>
        )}
        <DropdownMenu.Separator className="my-1 h-px bg-line" />
        {possible(task).map((verb) =>
          verb === 'message' ? (
            <DropdownMenu.Item key={verb} className={menuItem} onSelect={() => open()}>
              {task.phase === 'needs_you' ? t('Answer') : t('Write to the agent')}
            </DropdownMenu.Item>
          ) : (
            <DropdownMenu.Item
              key={verb}
              className={`${menuItem} ${verb === 'close' ? 'text-oxblood' : ''}`}
              onSelect={() => void attempt(task, verb)}
            >
              {VERB_WORDS[verb]}
            </DropdownMenu.Item>
          ),
        )}
      </DropdownMenu.Content>
    </DropdownMenu.Portal>
  )
}
