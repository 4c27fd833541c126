/** The server's numbers, as Prometheus reads them. The page keeps what it saw while it was open; Prometheus stays the source. */
import { t } from '../words/words'

export interface Sample {
  name: string
  labels: Readonly<Record<string, string>>
  value: number
}

/** Reads the text that Prometheus reads. Lines it does not understand are left out. */
export function parse(text: string): Sample[] {
  const samples: Sample[] = []
  for (const line of text.split('\n')) {
    const found = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/.exec(line)
    if (!found || line.startsWith('#')) continue
    const labels: Record<string, string> = {}
    for (const [, name, value] of (found[2] ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
      labels[name as string] = (value as string).replace(/\\(.)/g, (_, letter: string) =>
        letter === 'n' ? '\n' : letter,
      )
    }
    samples.push({ name: found[1] as string, labels, value: Number(found[3]?.replace('Inf', 'Infinity')) })
  }
  return samples
}

/** The sum over every series of a name whose labels are as asked. Nothing when there is none. */
export function total(
  samples: readonly Sample[],
  name: string,
  labels: Record<string, string> = {},
): number | undefined {
  let sum: number | undefined
  for (const sample of samples) {
    if (sample.name !== name) continue
    if (Object.entries(labels).some(([label, value]) => sample.labels[label] !== value)) continue
    sum = (sum ?? 0) + sample.value
  }
  return sum
}

/** A percentile out of a histogram's buckets or a summary's quantiles, in the unit of the series. */
export function percentile(
  samples: readonly Sample[],
  name: string,
  part: number,
  labels: Record<string, string> = {},
): number | undefined {
  const fits = (sample: Sample) =>
    Object.entries(labels).every(([label, value]) => sample.labels[label] === value)
  const quantiles = samples.filter((it) => it.name === name && it.labels.quantile !== undefined && fits(it))
  const exact = quantiles.filter((it) => Number(it.labels.quantile) === part).map((it) => it.value)
  if (exact.length > 0) return Math.max(...exact)

  const buckets = new Map<number, number>()
  for (const sample of samples) {
    if (sample.name !== `${name}_bucket` || !fits(sample)) continue
    const bound = Number((sample.labels.le ?? '').replace('+Inf', 'Infinity'))
    buckets.set(bound, (buckets.get(bound) ?? 0) + sample.value)
  }
  const sorted = [...buckets].sort(([a], [b]) => a - b)
  const whole = sorted.at(-1)?.[1]
  if (!whole) return undefined
  let [lower, below] = [0, 0]
  for (const [bound, amount] of sorted) {
    if (amount >= whole * part) {
      if (!Number.isFinite(bound)) return lower
      const inside = amount - below
      return inside === 0 ? bound : lower + ((bound - lower) * (whole * part - below)) / inside
    }
    lower = bound
    below = amount
  }
  return lower
}

/** `4 ms`, `230 ms`, `1.4 s`, `3 min` */
export function seconds(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return '–'
  if (value < 0.001) return `${Math.max(1, Math.round(value * 1e6))} µs`
  if (value < 1) return t('{amount} ms', { amount: Math.round(value * 1000) })
  if (value < 60) return `${value.toFixed(1)} s`
  return t('{amount} min', { amount: Math.round(value / 60) })
}
