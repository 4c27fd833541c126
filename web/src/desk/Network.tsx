/** What this desk may reach, and what it pushed through the gateway. */
import { useQuery } from '@tanstack/react-query'
import { pushes } from '../api/queries'
import type { SandboxView } from '../api/types'
import { Ago } from '../ui/Moments'
import { Chip, Empty } from '../ui/Small'

const WORDS: Record<string, [string, string]> = {
  none: ['No network', 'It reaches the gateway alone: git, and models if its agent has one.'],
  allow: ['Some hosts', 'It reaches these hosts through the proxy, and the gateway.'],
  open: ['Open', 'It reaches every public host through the proxy.'],
}

export function Network({
  sandbox,
  repo,
  taskId,
}: {
  sandbox: SandboxView | undefined
  repo?: string | null | undefined
  taskId?: number | undefined
}) {
  if (!sandbox)
    return (
      <Empty title="No desk">
        <p>There is no sandbox now, so there is nothing it could reach.</p>
      </Empty>
    )
  const [title, detail] = WORDS[sandbox.network.mode] ?? [sandbox.network.mode, '']
  const hosts = sandbox.network.allow ?? []
  return (
    <section aria-label="Network" className="min-h-0 flex-1 space-y-5 overflow-y-auto p-5">
      <div>
        <h2 className="text-lead">{title}</h2>
        <p className="text-soft">{detail}</p>
        {hosts.length > 0 && (
          <ul aria-label="Allowed hosts" className="mt-3 flex flex-wrap gap-1.5">
            {hosts.map((host) => (
              <li key={host}>
                <Chip>{host}</Chip>
              </li>
            ))}
          </ul>
        )}
      </div>
      {repo && <Pushed repo={repo} sandboxId={sandbox.id} taskId={taskId} />}
    </section>
  )
}

function Pushed({
  repo,
  sandboxId,
  taskId,
}: {
  repo: string
  sandboxId: string
  taskId: number | undefined
}) {
  const all = useQuery(pushes(repo)).data
  const own = all?.filter(
    (push) => push.sandbox_id === sandboxId || (taskId !== undefined && push.task_id === taskId),
  )
  return (
    <div>
      <h2 className="text-lead">Pushes</h2>
      {own?.length === 0 && <p className="text-soft">Nothing was pushed from here yet.</p>}
      <ul className="divide-y divide-line">
        {own?.map((push) => (
          <li key={push.id} className="py-2">
            <p className="flex items-center gap-2">
              <Chip tone={push.accepted ? 'lamp' : 'bad'}>{push.accepted ? 'accepted' : 'refused'}</Chip>
              <span className="min-w-0 flex-1 truncate font-mono text-small">
                {push.refs.map((it) => it.name.replace('refs/heads/', '')).join(', ')}
              </span>
              <span className="text-small text-faint">
                <Ago at={push.at} />
              </span>
            </p>
            {push.refusal && <p className="mt-1 text-small text-oxblood wrap-anywhere">{push.refusal}</p>}
          </li>
        ))}
      </ul>
    </div>
  )
}
