/** What is on a sandbox's desk, for every page that shows one: a terminal, a window on its ports, files, what it reaches, what happened. */
import { lazy, type ReactNode } from 'react'
import type { SandboxView } from '../api/types'
import { useVerbs } from '../sandbox/verbs'
import { Button } from '../ui/Button'
import type { Part } from '../ui/Parts'
import { Empty } from '../ui/Small'
import { worded } from '../words/enums'
import { t } from '../words/words'
import { Files } from './Files'
import { Logs } from './Logs'
import { Network } from './Network'
import { Preview } from './Preview'
import { DESK_WORDS, type DeskPart } from './parts'

const Terminal = lazy(() => import('./Terminal').then((it) => ({ default: it.Terminal })))

interface Desk {
  sandbox: SandboxView | undefined
  /** Its name is known longer than it lives: what happened is told of those that are gone too. */
  sandboxId: string | null | undefined
  /** Where the work is, when there is a place for it. */
  folder: string | undefined
  repo?: string | null | undefined
  taskId?: number | undefined
  /** Why nobody sits there. */
  absent: string
}

export function deskParts({ sandbox, sandboxId, folder, repo, taskId, absent }: Desk): Part<DeskPart>[] {
  const part = (name: DeskPart, panel: ReactNode): Part<DeskPart> => ({
    name,
    word: DESK_WORDS[name],
    panel,
  })
  const awake = (name: DeskPart, show: (id: string) => ReactNode) =>
    part(
      name,
      <Awake sandbox={sandbox} absent={absent}>
        {show}
      </Awake>,
    )
  return [
    awake('terminal', (id) => <Terminal sandboxId={id} cwd={folder} />),
    awake('preview', (id) => <Preview sandboxId={id} />),
    awake('files', (id) => <Files sandboxId={id} home={folder ?? '/home'} />),
    part('network', <Network sandbox={sandbox} repo={repo} taskId={taskId} />),
    part(
      'logs',
      sandboxId ? (
        <Logs sandboxId={sandboxId} />
      ) : (
        <Empty title={t('Nothing yet')}>
          <p>{t('What happens at this desk is told here.')}</p>
        </Empty>
      ),
    ),
  ]
}

/** For what needs the sandbox to be there and awake. */
function Awake({
  sandbox,
  absent,
  children,
}: {
  sandbox: SandboxView | undefined
  absent: string
  children(id: string): ReactNode
}) {
  if (!sandbox || sandbox.phase === 'gone' || sandbox.phase === 'failed')
    return (
      <Empty title={t('Nobody at the desk')}>
        <p>{absent}</p>
      </Empty>
    )
  if (sandbox.phase === 'paused') return <Asleep sandbox={sandbox} />
  if (sandbox.phase !== 'ready')
    return (
      <Empty title={t('In a moment')}>
        <p>{t('The desk is {phase}.', { phase: worded(sandbox.phase) })}</p>
      </Empty>
    )
  return children(sandbox.id)
}

function Asleep({ sandbox }: { sandbox: SandboxView }) {
  const verbs = useVerbs(sandbox)
  return (
    <Empty title={t('The desk sleeps')}>
      <p>{t('It was paused while nobody needed it. Everything is as it was left.')}</p>
      <div>
        <Button tone="primary" isBusy={sandbox.want === 'ready'} onClick={() => verbs.resume.mutate()}>
          {t('Wake it')}
        </Button>
      </div>
    </Empty>
  )
}
