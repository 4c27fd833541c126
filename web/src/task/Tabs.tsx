/** What came of the work, tab by tab. Each is loaded when first looked at. */
import { Tabs as Radix } from 'radix-ui'
import { lazy, type ReactNode, Suspense } from 'react'
import type { SandboxView } from '../api/types'
import { EditorButton } from '../desk/EditorButton'
import { Files } from '../desk/Files'
import { Logs } from '../desk/Logs'
import { Network } from '../desk/Network'
import { Preview } from '../desk/Preview'
import { useVerbs } from '../sandbox/verbs'
import { Button } from '../ui/Button'
import { Empty, Skeleton } from '../ui/Small'
import { Details } from './Details'
import { CHECKOUT, useSandboxOf } from './desk'
import { fetchLine, isOver } from './phases'
import { TAB_WORDS, TABS, type Tab } from './tabs'
import type { Task } from './types'
import type { Act } from './verbs'

const DiffTab = lazy(() => import('../review/DiffTab'))
const Terminal = lazy(() => import('../desk/Terminal').then((it) => ({ default: it.Terminal })))

interface TabsProps {
  task: Task
  tab: Tab
  since?: number | undefined
  act: Act
  onTab(tab: Tab): void
}

export function Tabs({ task, tab, since, act, onTab }: TabsProps) {
  const sandbox = useSandboxOf(task)
  return (
    <Radix.Root
      value={tab}
      onValueChange={(value) => onTab(value as Tab)}
      className="relative flex min-h-0 flex-1 flex-col"
    >
      <Radix.List
        aria-label="Work"
        className="flex shrink-0 gap-1 overflow-x-auto border-b border-line px-3 [scrollbar-width:none]"
      >
        {TABS.map((name) => (
          <Radix.Trigger
            key={name}
            value={name}
            className="-mb-px h-10 border-b-2 border-transparent px-2.5 whitespace-nowrap text-soft hover:text-ink data-[state=active]:border-lamp data-[state=active]:font-medium data-[state=active]:text-ink"
          >
            {TAB_WORDS[name]}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {sandbox?.phase === 'ready' && (
        <div className="absolute top-1 right-3 bg-paper pl-2 max-lg:hidden">
          <EditorButton sandboxId={sandbox.id} folder={CHECKOUT} fetch={fetchLine(task)} />
        </div>
      )}
      <Panel tab="diff">
        <DiffTab task={task} act={act} since={since} />
      </Panel>
      <Panel tab="terminal">
        <AtDesk task={task} sandbox={sandbox}>
          {(id) => <Terminal sandboxId={id} cwd={CHECKOUT} />}
        </AtDesk>
      </Panel>
      <Panel tab="files">
        <AtDesk task={task} sandbox={sandbox}>
          {(id) => <Files sandboxId={id} home={CHECKOUT} />}
        </AtDesk>
      </Panel>
      <Panel tab="preview">
        <AtDesk task={task} sandbox={sandbox}>
          {(id) => <Preview sandboxId={id} />}
        </AtDesk>
      </Panel>
      <Panel tab="network">
        <Network sandbox={sandbox} repo={task.repo} taskId={task.id} />
      </Panel>
      <Panel tab="logs">
        {task.sandbox_id ? (
          <Logs sandboxId={task.sandbox_id} />
        ) : (
          <Empty title="Nothing yet">
            <p>What happens at the desk of this task is told here.</p>
          </Empty>
        )}
      </Panel>
      <Panel tab="details">
        <Details task={task} sandbox={sandbox} />
      </Panel>
    </Radix.Root>
  )
}

function Panel({ tab, children }: { tab: Tab; children: ReactNode }) {
  return (
    <Radix.Content
      value={tab}
      className="flex min-h-0 flex-1 flex-col outline-none data-[state=inactive]:hidden"
    >
      <Suspense fallback={<Skeleton className="m-4 h-40" />}>{children}</Suspense>
    </Radix.Content>
  )
}

/** For what needs the sandbox to be there and awake. */
function AtDesk({
  task,
  sandbox,
  children,
}: {
  task: Task
  sandbox: SandboxView | undefined
  children(sandboxId: string): ReactNode
}) {
  if (!sandbox)
    return (
      <Empty title="Nobody at the desk">
        <p>
          {isOver(task)
            ? 'The task is over and its desk was cleared. Its commits are on the branch.'
            : 'A desk is set up when the task starts.'}
        </p>
      </Empty>
    )
  if (sandbox.phase === 'paused') return <Paused sandbox={sandbox} />
  if (sandbox.phase !== 'ready')
    return (
      <Empty title="In a moment">
        <p>The desk is {sandbox.phase}.</p>
      </Empty>
    )
  return children(sandbox.id)
}

function Paused({ sandbox }: { sandbox: SandboxView }) {
  const verbs = useVerbs(sandbox)
  return (
    <Empty title="The desk sleeps">
      <p>It was paused while nobody needed it. Everything is as it was left.</p>
      <div>
        <Button tone="primary" isBusy={sandbox.want === 'ready'} onClick={() => verbs.resume.mutate()}>
          Wake it
        </Button>
      </div>
    </Empty>
  )
}
