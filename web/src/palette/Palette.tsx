/** Find anything, do anything: one field, everything the page knows. */
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useRouterState } from '@tanstack/react-router'
import { Command } from 'cmdk'
import { ChevronRight, KeyRound, LayoutGrid, Moon, Plus, ScrollText, Search, Sun } from 'lucide-react'
import { Dialog } from 'radix-ui'
import { type ReactNode, useState } from 'react'
import { repos, sandboxes } from '../api/queries'
import { useMoves } from '../board/moves'
import { PLACES } from '../frame/places'
import { openSheet } from '../frame/sheets'
import { TASK_LOOKS } from '../task/phases'
import { tasks } from '../task/queries'
import { possible, VERB_WORDS } from '../task/verbs'
import { cx } from '../ui/cx'
import { Kbd } from '../ui/Small'
import { useTheme } from '../ui/theme'
import { worded } from '../words/enums'
import { t } from '../words/words'

const item =
  'flex h-10 cursor-pointer items-center gap-3 rounded-lg px-3 text-ink data-[selected=true]:bg-well [&>svg]:size-4 [&>svg]:shrink-0 [&>svg]:text-faint'

export function Palette({ onClose }: { onClose(): void }) {
  const navigate = useNavigate()
  const cards = useQuery(tasks).data ?? []
  const shelf = useQuery(repos).data ?? []
  const desks = useQuery(sandboxes).data?.items ?? []
  const [, setTheme] = useTheme()
  const [text, setText] = useState('')
  const { attempt } = useMoves()
  // Of all cards, verbs are offered for the one that is open, or the one whose number is typed.
  const open = useRouterState({
    select: (state) => /\/tasks\/(?:task-)?(\d+)/.exec(state.location.pathname)?.[1],
  })
  const meant = Number(/\d+/.exec(text)?.[0] ?? open)
  const subject = cards.find((it) => it.id === meant)
  const verbs = subject ? possible(subject).filter((it) => it !== 'message') : []
  const then = (act: () => void) => () => {
    onClose()
    act()
  }

  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-40 animate-appear bg-[oklch(0.2_0.02_70/0.42)] backdrop-blur-[2px]" />
        <Dialog.Content
          aria-describedby={undefined}
          className="fixed inset-x-3 top-[10vh] z-50 mx-auto max-w-xl animate-rise overflow-hidden rounded-2xl border border-line bg-paper shadow-float outline-none"
        >
          <Dialog.Title className="sr-only">{t('Find anything')}</Dialog.Title>
          <Command label={t('Find anything')} loop>
            <div className="flex items-center gap-3 border-b border-line px-4">
              <Search aria-hidden className="size-4 text-faint" />
              <Command.Input
                autoFocus
                value={text}
                onValueChange={setText}
                placeholder={t('A task, a page, a verb…')}
                className="h-13 flex-1 bg-transparent text-lead outline-none"
              />
              <span className="max-md:hidden">
                <Kbd>{t('Esc')}</Kbd>
              </span>
            </div>
            <Command.List
              label={t('Find anything')}
              className="max-h-[min(60vh,26rem)] scroll-py-2 overflow-y-auto p-2"
            >
              <Command.Empty className="py-8 text-center text-soft">
                {t('Nothing by that name.')}
              </Command.Empty>
              {subject && verbs.length > 0 && (
                <Group heading={`task-${subject.id} · ${subject.title}`}>
                  {verbs.map((verb) => (
                    <Command.Item
                      key={verb}
                      value={`${VERB_WORDS[verb]} task-${subject.id}`}
                      className={item}
                      onSelect={then(() => void attempt(subject, verb))}
                    >
                      <ChevronRight aria-hidden /> {VERB_WORDS[verb]}{' '}
                      <span className="font-mono text-small text-faint">{`task-${subject.id}`}</span>
                    </Command.Item>
                  ))}
                </Group>
              )}
              <Group heading={t('Do')}>
                <Command.Item
                  className={item}
                  onSelect={then(() => openSheet({ name: 'task' }))}
                  keywords={['create', 'add']}
                >
                  <Plus /> {t('New task')}
                  <span className="ml-auto max-md:hidden">
                    <Kbd>c</Kbd>
                  </span>
                </Command.Item>
                <Command.Item
                  className={item}
                  onSelect={then(() => void navigate({ to: '/repos', search: { add: true } }))}
                  keywords={['clone', 'github', 'repository']}
                >
                  <Plus /> {t('Add a repository')}
                </Command.Item>
                <Command.Item className={item} onSelect={then(() => setTheme('light'))}>
                  <Sun /> {t('Light')}
                </Command.Item>
                <Command.Item className={item} onSelect={then(() => setTheme('dark'))}>
                  <Moon /> {t('Dark')}
                </Command.Item>
                <Command.Item
                  className={item}
                  onSelect={then(() => openSheet({ name: 'help' }))}
                  keywords={['help', 'shortcuts']}
                >
                  <KeyRound /> {t('Keys of the keyboard')}
                  <span className="ml-auto max-md:hidden">
                    <Kbd>?</Kbd>
                  </span>
                </Command.Item>
              </Group>
              <Group heading={t('Go to')}>
                {PLACES.map(({ to, label, icon: Icon, key }) => (
                  <Command.Item
                    key={to}
                    value={`go ${label}`}
                    className={item}
                    onSelect={then(() => void navigate({ to }))}
                  >
                    <Icon aria-hidden /> {label}
                    <span className="ml-auto flex gap-1 max-md:hidden">
                      <Kbd>g</Kbd>
                      <Kbd>{key}</Kbd>
                    </span>
                  </Command.Item>
                ))}
                <Command.Item
                  value="go Audit"
                  className={item}
                  onSelect={then(() => void navigate({ to: '/audit' }))}
                >
                  <ScrollText /> {t('Audit')}
                </Command.Item>
              </Group>
              <Group heading={t('Tasks')}>
                {cards.slice(0, 300).map((task) => (
                  <Command.Item
                    key={task.id}
                    value={`task-${task.id} ${task.title}`}
                    keywords={[
                      task.repo,
                      task.agent ?? '',
                      task.pull ? `#${task.pull.number}` : '',
                      ...task.labels,
                    ]}
                    className={item}
                    onSelect={then(
                      () => void navigate({ to: '/tasks/$id', params: { id: String(task.id) } }),
                    )}
                  >
                    <span
                      aria-hidden
                      className={cx('size-2 shrink-0 rounded-full', TASK_LOOKS[task.phase].dot)}
                    />
                    <span className="font-mono text-small text-faint">{task.id}</span>
                    <span className="min-w-0 flex-1 truncate">{task.title}</span>
                    <span className="text-small text-faint">{TASK_LOOKS[task.phase].word}</span>
                  </Command.Item>
                ))}
              </Group>
              <Group heading={t('Repositories')}>
                {shelf.map((repo) => (
                  <Command.Item
                    key={repo.name}
                    value={`repo ${repo.name}`}
                    className={item}
                    onSelect={then(() => void navigate({ to: '/repos/$name', params: { name: repo.name } }))}
                  >
                    {repo.name}
                  </Command.Item>
                ))}
              </Group>
              <Group heading={t('Sandboxes')}>
                {desks.slice(0, 50).map((sandbox) => (
                  <Command.Item
                    key={sandbox.id}
                    value={`sandbox ${sandbox.id}`}
                    className={item}
                    onSelect={then(() => void navigate({ to: '/sandboxes/$id', params: { id: sandbox.id } }))}
                  >
                    <LayoutGrid />
                    <span className="font-mono text-small">{sandbox.id}</span>
                    <span className="ml-auto text-small text-faint">{worded(sandbox.phase)}</span>
                  </Command.Item>
                ))}
              </Group>
            </Command.List>
          </Command>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

function Group({ heading, children }: { heading: string; children: ReactNode }) {
  return (
    <Command.Group
      heading={heading}
      className="[&_[cmdk-group-heading]]:px-3 [&_[cmdk-group-heading]]:pt-2.5 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-tiny [&_[cmdk-group-heading]]:text-faint"
    >
      {children}
    </Command.Group>
  )
}
