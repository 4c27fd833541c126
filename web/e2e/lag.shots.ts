/** How long it takes from a program's print to the eye, with everything real. `npm run lag` prints the figures. */
import { afterAll, beforeAll, it } from 'vitest'
import { Server } from './server'
import { Visitor } from './visitor'

const TICKS = 100
/** Prints the time, in milliseconds, some ten times a second. */
const PRINTS = `i=0; while [ $i -lt ${TICKS} ]; do echo "tick $(date +%s%3N)"; i=$((i+1)); sleep 0.1; done`

let server: Server
let visitor: Visitor

beforeAll(async () => {
  server = await Server.open({ CARREL_LOCAL_DISK: 'folder' })
  visitor = await Visitor.arrive()
  await visitor.page.goto(server.link)
  await visitor.page.locator('[data-stream="live"]').first().waitFor()
})

afterAll(async () => {
  await visitor?.leave()
  try {
    await server?.clear()
  } finally {
    await server?.close()
  }
})

/** Notes for every tick when it stood on the page for the first time. */
async function watch(selector: string): Promise<void> {
  await visitor.page.evaluate((where) => {
    const seen = new Map<string, number>()
    ;(window as unknown as { seen: Map<string, number> }).seen = seen
    const look = () => {
      const now = Date.now()
      for (const home of document.querySelectorAll(where))
        for (const [, tick] of (home.textContent ?? '').matchAll(/tick (\d{13})/g))
          if (!seen.has(tick as string)) seen.set(tick as string, now)
    }
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true })
  }, selector)
}

async function figures(name: string): Promise<void> {
  await visitor.page.waitForFunction(
    (wanted) => (window as unknown as { seen: Map<string, number> }).seen.size >= wanted,
    TICKS,
    { timeout: 90_000 },
  )
  const lags = await visitor.page.evaluate(() =>
    [...(window as unknown as { seen: Map<string, number> }).seen].map(([tick, at]) => at - Number(tick)),
  )
  const sorted = lags.toSorted((a, b) => a - b)
  // Which of them were slow tells what was in their way: the first ones wait for a page that is still being put together.
  const worst = lags
    .map((ms, tick) => ({ tick, ms }))
    .sort((a, b) => b.ms - a.ms)
    .slice(0, 5)
  const part = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
  console.log(
    JSON.stringify({
      where: name,
      ticks: lags.length,
      p50_ms: part(0.5),
      p95_ms: part(0.95),
      p99_ms: part(0.99),
      worst: worst.map((it) => `${it.ms} ms at ${it.tick}`).join(', '),
    }),
  )
}

it('a terminal', async () => {
  const { id } = await server.ask<{ id: string }>('POST', '/sandboxes?wait=ready', {})
  await visitor.page.goto(`${server.origin}/app/sandboxes/${id}?tab=terminal`)
  await visitor.page.locator('[data-terminal="open"]').waitFor({ timeout: 60_000 })
  await watch('.xterm-rows')
  await visitor.page.locator('[data-terminal] textarea').focus()
  await visitor.page.keyboard.type(`clear; ${PRINTS}`)
  await visitor.page.keyboard.press('Enter')
  await figures('terminal')
})

it('a log', async () => {
  const { id } = await server.ask<{ id: string }>('POST', '/sandboxes?wait=ready', {})
  await server.ask('POST', `/sandboxes/${id}/execute`, {
    command: `until [ -e /home/user/go ]; do sleep 0.05; done; ${PRINTS}`,
    background: true,
  })
  await visitor.page.goto(`${server.origin}/app/sandboxes/${id}?tab=logs`)
  await visitor.page.locator('[data-output]').waitFor()
  await watch('[data-output]')
  await server.ask('POST', `/sandboxes/${id}/execute`, { command: 'touch /home/user/go' })
  await figures('log')
})

it('a conversation', async () => {
  await server.ask('POST', '/repos', { new: true, name: 'sample' })
  await server.ask('POST', '/agents', { name: 'clock', dialect: 'shell', command: PRINTS })
  const { id } = await server.ask<{ id: number }>('POST', '/tasks', {
    repo: 'sample',
    agent: 'clock',
    title: 'Tell the time',
  })
  await visitor.page.goto(`${server.origin}/app/tasks/${id}`)
  await visitor.page.locator('[data-stream="live"]').first().waitFor()
  await watch('[role="log"]')
  await server.ask('POST', `/tasks/${id}/start`)
  await figures('conversation')
})
