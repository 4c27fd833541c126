/** A line over time. Loaded when a dashboard is first looked at. */
import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { useIsDark } from '../ui/theme'
import { second } from '../ui/time'

/** A line of a few seconds is drawn as the end of half a minute, and has the whole width from then on. */
const SHORTEST_S = 30

export interface Series {
  label: string
  /** A token of the page's colours. */
  colour: string
  values: readonly (number | null)[]
}

export default function Chart({
  times,
  series,
  label,
  height = 160,
}: {
  times: readonly number[]
  series: readonly Series[]
  label: string
  height?: number
}) {
  const home = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const isDark = useIsDark()
  const names = series.map((it) => `${it.label}:${it.colour}`).join('|')

  // biome-ignore lint/correctness/useExhaustiveDependencies: the plot is made anew when its shape or the theme changes, not with each value
  useEffect(() => {
    const element = home.current
    if (!element) return
    const style = getComputedStyle(document.documentElement)
    const colour = (token: string) => resolve(element, style.getPropertyValue(token))
    const axis = {
      font: '12px "Source Sans 3", sans-serif',
      stroke: colour('--ink-faint'),
      grid: { stroke: colour('--line'), width: 1 },
      ticks: { show: false },
    }
    plot.current = new uPlot(
      {
        width: element.clientWidth || 300,
        height,
        legend: { show: series.length > 1, live: false },
        cursor: { drag: { x: false, y: false } },
        scales: {
          x: {
            // Before the first value there are the last minutes, empty.
            range: (_, low: number | null, high: number | null) => {
              const end = high ?? Date.now() / 1000
              return [Math.min(low ?? end, end - SHORTEST_S), end]
            },
          },
          y: { range: (_, low, high) => [Math.min(0, low ?? 0), Math.max(1, (high ?? 1) * 1.1)] },
        },
        axes: [
          { ...axis, space: 90, size: 28, values: (_, ticks) => ticks.map(clock) },
          { ...axis, size: 44 },
        ],
        series: [
          {},
          ...series.map((it) => ({
            label: it.label,
            stroke: colour(it.colour),
            fill: resolve(element, `color-mix(in oklab, var(${it.colour}) 10%, transparent)`),
            width: 1.75,
            points: { show: false },
          })),
        ],
      },
      shape(times, series),
      element,
    )
    const watch = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height }))
    watch.observe(element)
    return () => {
      watch.disconnect()
      plot.current?.destroy()
      plot.current = undefined
    }
  }, [names, isDark, height])

  useEffect(() => {
    plot.current?.setData(shape(times, series))
  }, [times, series])

  return (
    <div
      ref={home}
      role="img"
      aria-label={label}
      className="w-full text-tiny [&_.u-legend]:font-sans [&_.u-legend]:text-small [&_.u-legend]:text-soft [&_.u-legend_th]:font-normal! [&_.u-marker]:h-0! [&_.u-marker]:border-x-0! [&_.u-marker]:border-b-0!"
    />
  )
}

const clock = (at: number) => second(new Date(at * 1000).toISOString())

function shape(times: readonly number[], series: readonly Series[]): uPlot.AlignedData {
  // One moment alone would be drawn as a whole day, and none as the year 1970.
  if (times.length < 2) {
    const end = times[0] ?? Date.now() / 1000
    return [[end - SHORTEST_S, end], ...series.map((it) => [null, it.values[0] ?? null])] as uPlot.AlignedData
  }
  return [[...times], ...series.map((it) => [...it.values])] as uPlot.AlignedData
}

/** Canvases do not know `light-dark()`; the browser does, so it is asked. */
function resolve(element: HTMLElement, value: string): string {
  const probe = document.createElement('span')
  probe.style.color = value
  element.append(probe)
  const colour = getComputedStyle(probe).color
  probe.remove()
  return colour
}
