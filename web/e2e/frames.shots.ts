/** How smooth the board is with five hundred cards and fifty events a second. `npm run frames` prints the figures. */
import type { CDPSession } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { aTask } from '../src/task/sample'
import type { TaskPhase } from '../src/task/types'
import { scene } from './stage/scene'
import { Stage } from './stage/stage'
import { Visitor } from './visitor'

const CARDS = 500
const PER_SECOND = 50
const SECONDS = 6
const PHASES: TaskPhase[] = ['backlog', 'queued', 'working', 'needs_you', 'in_review', 'merged']

let stage: Stage
let visitor: Visitor

beforeAll(async () => {
  const crowd = scene()
  crowd.tasks = Array.from({ length: CARDS }, (_, at) =>
    aTask({
      id: at + 1,
      title: `Card ${at + 1}: a wish of an ordinary length, as people write them`,
      phase: PHASES[at % PHASES.length] ?? 'backlog',
      started_at: new Date().toISOString(),
      doing: 'Reading',
      cost_usd: 0.1,
      ahead: 2,
    }),
  )
  stage = await Stage.open(crowd)
  visitor = await Visitor.arrive()
})

afterAll(async () => {
  await visitor?.leave()
  await stage?.close()
})

/** What the board is to keep up with all of this. */
const AIM = 50

interface Figures {
  /** How often the page was asked to draw, by its own clock. */
  frames_per_second: number
  /** How many frames the browser made of it and put on the screen, by its trace. */
  traced_frames_per_second: number
  /** Frames that the trace calls dropped. */
  dropped: number
  p99_frame_ms: number
  /** Processor time of the page's main thread, so that a busy machine does not count against it. */
  main_thread: string
}

interface TraceEvent {
  name: string
}

/** The browser's own record of its frames, as the developer tools read it. */
class Trace {
  readonly #devtools: CDPSession
  readonly #events: TraceEvent[] = []
  readonly #hear = ({ value }: { value: unknown[] }) => {
    for (const event of value) this.#events.push(event as TraceEvent)
  }

  private constructor(devtools: CDPSession) {
    this.#devtools = devtools
    devtools.on('Tracing.dataCollected', this.#hear)
  }

  static async begin(devtools: CDPSession): Promise<Trace> {
    const trace = new Trace(devtools)
    await devtools.send('Tracing.start', {
      transferMode: 'ReportEvents',
      traceConfig: {
        includedCategories: ['disabled-by-default-devtools.timeline.frame', 'devtools.timeline'],
      },
    })
    return trace
  }

  async end(): Promise<{ shown: number; dropped: number }> {
    const complete = new Promise((done) => this.#devtools.once('Tracing.tracingComplete', done))
    await this.#devtools.send('Tracing.end')
    await complete
    this.#devtools.off('Tracing.dataCollected', this.#hear)
    const count = (name: string) => this.#events.filter((it) => it.name === name).length
    return { shown: count('DrawFrame'), dropped: count('DroppedFrame') }
  }
}

async function measure(devtools: CDPSession): Promise<Figures> {
  const spent = async () => {
    const { metrics } = await devtools.send('Performance.getMetrics')
    return metrics.find((it) => it.name === 'TaskDuration')?.value ?? 0
  }
  const before = await spent()
  const trace = await Trace.begin(devtools)
  const stamps = await visitor.page.evaluate(
    (seconds) =>
      new Promise<number[]>((done) => {
        const list: number[] = []
        const draw = (now: number) => {
          list.push(now)
          if (now - (list[0] ?? now) < seconds * 1000) requestAnimationFrame(draw)
          else done(list)
        }
        requestAnimationFrame(draw)
      }),
    SECONDS,
  )
  const drawn = await trace.end()
  const gaps = stamps.slice(1).map((stamp, at) => stamp - (stamps[at] as number))
  const passed = ((stamps.at(-1) as number) - (stamps[0] as number)) / 1000
  const sorted = gaps.toSorted((a, b) => a - b)
  return {
    frames_per_second: Math.round(gaps.length / passed),
    traced_frames_per_second: Math.round(drawn.shown / passed),
    dropped: drawn.dropped,
    p99_frame_ms: Math.round(sorted[Math.floor(sorted.length * 0.99)] ?? 0),
    main_thread: `${Math.round((((await spent()) - before) / passed) * 100)} %`,
  }
}

it(`${CARDS} cards and ${PER_SECOND} events a second`, async () => {
  await visitor.page.goto(`${stage.origin}/app/`)
  await visitor.page.locator('[data-stream="live"]').first().waitFor()
  await visitor.page.locator('[data-task]').first().waitFor()
  await visitor.settle()
  const devtools = await visitor.page.context().newCDPSession(visitor.page)
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
  // The same page in the same minute without events: what this machine can do at all.
  const still = await measure(devtools)
  let told = 0
  // Half of the events change what an agent does, half move a card to another column.
  const teller = setInterval(() => {
    told += 1
    const id = ((told * 37) % CARDS) + 1
    stage.change(
      id,
      told % 2 ? { doing: `Step ${told}` } : { phase: PHASES[told % PHASES.length] ?? 'backlog' },
    )
  }, 1000 / PER_SECOND)
  const stormy = await measure(devtools)
  clearInterval(teller)
  console.log(JSON.stringify({ cards: CARDS, events: told, still, stormy }))
  const met = (fps: number) => `${fps} frames per second, aim above ${AIM}: ${fps > AIM ? 'met' : 'not met'}`
  console.log(`By the page's clock ${met(stormy.frames_per_second)}.`)
  console.log(`By the browser's trace ${met(stormy.traced_frames_per_second)}.`)
  // Whatever the speed, what is shown in the end is what was told.
  for (const column of ['needs_you', 'in_review']) {
    const wanted = stage.scene.tasks.filter((it) => it.phase === column).length
    await expect
      .poll(() => visitor.page.locator(`[data-column="${column}"] h2`).innerText())
      .toMatch(new RegExp(`${wanted}$`))
  }
})
