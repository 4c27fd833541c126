/** Processor and memory of each desk, measured while somebody looks. */
import { useQueries } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { SandboxView } from '../api/types'
import { type Use, usage } from '../desk/usage'
import { bytes } from '../ui/money'
import { t } from '../words/words'

const MB = 1024 * 1024

export function DeskUse({ sandboxes }: { sandboxes: readonly SandboxView[] }) {
  const uses = useQueries({ queries: sandboxes.map((it) => usage(it.id)) })
  return (
    <ul className="grid gap-x-8 gap-y-4 md:grid-cols-2 xl:grid-cols-3">
      {sandboxes.map((sandbox, at) => {
        const told = uses[at]?.data ?? []
        const last = told.at(-1)
        return (
          <li key={sandbox.id} className="min-w-0">
            <p className="flex items-baseline gap-3">
              <Link
                to="/sandboxes/$id"
                params={{ id: sandbox.id }}
                className="min-w-0 flex-1 truncate font-mono text-small underline-offset-4 hover:underline"
              >
                {sandbox.task_id == null ? sandbox.id : `task-${sandbox.task_id}`}
              </Link>
              <span className="text-small text-faint">
                {last?.cpu == null ? '–' : t('{percent} % cpu', { percent: Math.round(last.cpu * 100) })} ·{' '}
                {last?.memory == null ? '–' : bytes(last.memory)}
              </span>
            </p>
            <div className="mt-1 grid grid-cols-2 gap-2">
              <Trace
                uses={told}
                read={(use) => use.cpu}
                most={Math.max(0.1, sandbox.limits.cpus)}
                colour="text-brass"
              />
              <Trace
                uses={told}
                read={(use) => use.memory}
                most={sandbox.limits.memory_mb * MB}
                colour="text-slate"
              />
            </div>
          </li>
        )
      })}
    </ul>
  )
}

const POINTS = 60

/** The last minutes as one line. The top edge is the limit. */
function Trace({
  uses,
  read,
  most,
  colour,
}: {
  uses: readonly Use[]
  read(use: Use): number | null
  most: number
  colour: string
}) {
  const shown = uses.slice(-POINTS)
  const points = shown.flatMap((use, at) => {
    const value = read(use)
    const x = 100 - (shown.length - 1 - at) * (100 / (POINTS - 1))
    return value === null ? [] : [`${x.toFixed(1)},${(24 - Math.min(1, value / most) * 22).toFixed(1)}`]
  })
  return (
    <svg
      aria-hidden
      viewBox="0 0 100 26"
      preserveAspectRatio="none"
      className={`h-8 w-full rounded-md bg-well ${colour}`}
    >
      {points.length > 1 && (
        <polyline
          points={points.join(' ')}
          fill="none"
          stroke="currentColor"
          strokeWidth="1.5"
          vectorEffect="non-scaling-stroke"
        />
      )}
    </svg>
  )
}
