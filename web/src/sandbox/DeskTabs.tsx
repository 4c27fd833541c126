/** What is on one sandbox's desk: a terminal, files, a window on its ports, what it reaches, what happened. */
import { Tabs } from 'radix-ui'
import { lazy, type ReactNode, Suspense } from 'react'
import type { SandboxView } from '../api/types'
import { Files } from '../desk/Files'
import { Logs } from '../desk/Logs'
import { Network } from '../desk/Network'
import { Preview } from '../desk/Preview'
import { Button } from '../ui/Button'
import { Empty, Skeleton } from '../ui/Small'
import { DESK_TABS, type DeskTab } from './deskTab'
import { useVerbs } from './verbs'

const Terminal = lazy(() => import('../desk/Terminal').then((it) => ({ default: it.Terminal })))

const WORDS: Record<DeskTab, string> = {
  overview: 'Overview',
  terminal: 'Terminal',
  files: 'Files',
  preview: 'Preview',
  network: 'Network',
  logs: 'Logs',
}

interface DeskTabsProps {
  sandbox: SandboxView
  tab: DeskTab
  onTab(tab: DeskTab): void
  /** What is told of it when nothing else is chosen. */
  children: ReactNode
}

export function DeskTabs({ sandbox, tab, onTab, children }: DeskTabsProps) {
  return (
    <Tabs.Root value={tab} onValueChange={(value) => onTab(value as DeskTab)}>
      <Tabs.List
        aria-label="Desk"
        className="mb-4 flex gap-1 overflow-x-auto border-b border-line [scrollbar-width:none]"
      >
        {DESK_TABS.map((name) => (
          <Tabs.Trigger
            key={name}
            value={name}
            className="-mb-px h-10 border-b-2 border-transparent px-3 whitespace-nowrap text-soft hover:text-ink data-[state=active]:border-lamp data-[state=active]:font-medium data-[state=active]:text-ink"
          >
            {WORDS[name]}
          </Tabs.Trigger>
        ))}
      </Tabs.List>
      <Tabs.Content value="overview" className="space-y-5 outline-none">
        {children}
      </Tabs.Content>
      <Panel name="terminal">
        <Awake sandbox={sandbox}>
          <Terminal sandboxId={sandbox.id} />
        </Awake>
      </Panel>
      <Panel name="files">
        <Awake sandbox={sandbox}>
          <Files sandboxId={sandbox.id} home="/home" />
        </Awake>
      </Panel>
      <Panel name="preview">
        <Awake sandbox={sandbox}>
          <Preview sandboxId={sandbox.id} />
        </Awake>
      </Panel>
      <Panel name="network">
        <Network sandbox={sandbox} repo={null} />
      </Panel>
      <Panel name="logs">
        <Logs sandboxId={sandbox.id} />
      </Panel>
    </Tabs.Root>
  )
}

function Panel({ name, children }: { name: DeskTab; children: ReactNode }) {
  return (
    <Tabs.Content
      value={name}
      className="flex h-[max(24rem,calc(100dvh-21rem))] flex-col overflow-hidden rounded-2xl border border-line bg-card shadow-card outline-none data-[state=inactive]:hidden"
    >
      <Suspense fallback={<Skeleton className="m-4 h-40" />}>{children}</Suspense>
    </Tabs.Content>
  )
}

/** For what needs the sandbox to be there and awake. */
function Awake({ sandbox, children }: { sandbox: SandboxView; children: ReactNode }) {
  const verbs = useVerbs(sandbox)
  if (sandbox.phase === 'ready') return children
  if (sandbox.phase === 'paused')
    return (
      <Empty title="It sleeps">
        <p>It was paused while nobody needed it. Everything is as it was left.</p>
        <div>
          <Button tone="primary" isBusy={sandbox.want === 'ready'} onClick={() => verbs.resume.mutate()}>
            Wake it
          </Button>
        </div>
      </Empty>
    )
  return (
    <Empty title={sandbox.phase === 'gone' || sandbox.phase === 'failed' ? 'Nobody is there' : 'In a moment'}>
      <p>The sandbox is {sandbox.phase}.</p>
    </Empty>
  )
}
