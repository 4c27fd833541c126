/** The servers that are this house, where there is more than one of them. */
import { useQuery } from '@tanstack/react-query'
import { callJson } from '../api/call'
import type { components } from '../api/schema'
import { Ago } from '../ui/Moments'
import { Box, Chip } from '../ui/Small'
import { worded } from '../words/enums'
import { rich, t, tn } from '../words/words'

type Node = components['schemas']['NodeView']

const TONES = { up: 'lamp', draining: 'brass', away: 'bad' } as const
const EVERY_MS = 10_000

export function Nodes() {
  const nodes = useQuery({
    queryKey: ['nodes'],
    queryFn: async () => (await callJson<{ items: Node[] }>('/api/v1/nodes')).items,
    refetchInterval: EVERY_MS,
  })
  if (!nodes.data || nodes.data.length < 2) return null
  return (
    <div className="mt-5">
      <Box title={t('Nodes')}>
        <ul className="divide-y divide-line">
          {nodes.data.map((node) => (
            <li
              key={node.id}
              data-node={node.state}
              className="flex flex-wrap items-center gap-x-3 gap-y-1 py-2"
            >
              <span className="font-mono text-small font-medium">{node.id}</span>
              {node.answers && <Chip>{t('answers you')}</Chip>}
              <span className="text-small text-faint">
                {t('{cpus} cpu · {free} of {memory} GB free · {version}', {
                  cpus: node.cpus,
                  free: gigabytes(node.free_mb),
                  memory: gigabytes(node.memory_mb),
                  version: node.version,
                })}
              </span>
              <span className="ml-auto flex items-center gap-3 text-small text-soft">
                {node.state === 'away'
                  ? rich('last heard of {ago}', { ago: <Ago at={node.seen_at} /> })
                  : tn(node.sandboxes, '{n} desk', '{n} desks')}
                <Chip tone={TONES[node.state] ?? 'plain'}>{worded(node.state)}</Chip>
              </span>
            </li>
          ))}
        </ul>
      </Box>
    </div>
  )
}

const gigabytes = (mebibytes: number) => (mebibytes / 1024).toFixed(mebibytes < 10 * 1024 ? 1 : 0)
