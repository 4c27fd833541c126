/** Processor and memory of one sandbox over time. */
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { SandboxView } from '../api/types'
import Chart from '../dashboard/Chart'
import { bytes } from '../ui/money'
import { t } from '../words/words'
import { usage } from './usage'

const MB = 1024 * 1024

export default function UsageCharts({ sandbox }: { sandbox: SandboxView }) {
  const uses = useQuery(usage(sandbox.id)).data ?? []
  const times = useMemo(() => uses.map((it) => it.at), [uses])
  const cpu = useMemo(
    () => [{ label: t('processors'), colour: '--brass', values: uses.map((it) => it.cpu) }],
    [uses],
  )
  const memory = useMemo(
    () => [
      {
        label: t('memory'),
        colour: '--slate',
        values: uses.map((it) => (it.memory === null ? null : it.memory / MB)),
      },
    ],
    [uses],
  )
  const last = uses.at(-1)
  return (
    <section
      aria-label={t('Usage')}
      className="grid gap-x-8 gap-y-4 rounded-2xl border border-line bg-card px-5 py-4 shadow-card md:grid-cols-2"
    >
      <div className="min-w-0">
        <h2 className="flex items-baseline justify-between text-lead">
          {t('Processor')}
          <span className="font-sans text-small font-normal text-faint">
            {last?.cpu == null
              ? '–'
              : t('{used} of {cpus}', { used: last.cpu.toFixed(2), cpus: sandbox.limits.cpus })}
          </span>
        </h2>
        <Chart label={t('Processors in use over the last minutes')} times={times} series={cpu} height={140} />
      </div>
      <div className="min-w-0">
        <h2 className="flex items-baseline justify-between text-lead">
          {t('Memory, MB')}
          <span className="font-sans text-small font-normal text-faint">
            {last?.memory == null
              ? '–'
              : t('{memory} of {memory_mb}', {
                  memory: bytes(last.memory),
                  memory_mb: bytes(sandbox.limits.memory_mb * MB),
                })}
          </span>
        </h2>
        <Chart label={t('Memory in use over the last minutes')} times={times} series={memory} height={140} />
      </div>
    </section>
  )
}
