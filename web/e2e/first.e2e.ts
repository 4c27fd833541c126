/** The first five minutes of somebody who has only a phone's width and a keyboard: from the link to a merged pull request. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { Server } from './server'
import { Visitor } from './visitor'

let server: Server
let visitor: Visitor
let began: number

beforeAll(async () => {
  server = await Server.open({ CARREL_LOCAL_DISK: 'folder' })
  visitor = await Visitor.arrive()
  await visitor.page.setViewportSize({ width: 390, height: 844 })
})

afterAll(async () => {
  await visitor?.leave()
  try {
    await server?.clear()
  } finally {
    await server?.close()
  }
})

afterEach(() => {
  expect(visitor.complaints(), 'complaints of the browser').toEqual([])
})

/** What has the focus; nothing while the page as a whole has it, which would read as everything. */
const focused = () =>
  visitor.page.evaluate(() => {
    const at = document.activeElement
    return !at || at === document.body ? '' : (at.getAttribute('aria-label') ?? at.textContent ?? '')
  })

/** Goes on by Tab until it stands on what it looks for. */
async function tabTo(name: RegExp): Promise<void> {
  for (let step = 0; step < 60; step += 1) {
    if (name.test(await focused())) return
    await visitor.page.keyboard.press('Tab')
  }
  throw new Error(`No way to ${name} by Tab; it ended at “${await focused()}”`)
}

const fits = () =>
  visitor.page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth)

describe('the first run, by keyboard alone and on a narrow screen', () => {
  it('goes from the link to an agent at work', async () => {
    began = performance.now()
    const { keyboard } = visitor.page
    await visitor.page.goto(server.link)
    await visitor.page.getByRole('heading', { name: 'Welcome to Carrel' }).waitFor()
    expect(await fits()).toBe(true)
    await tabTo(/A sample/)
    await keyboard.press('Enter')
    // The focus goes along from step to step.
    await expect.poll(focused, { timeout: 30_000 }).toMatch(/demo/i)
    await keyboard.press('Enter')
    await visitor.page.getByLabel('What should be done?').waitFor()
    await expect
      .poll(() => visitor.page.evaluate(() => document.activeElement?.tagName), { timeout: 30_000 })
      .toBe('TEXTAREA')
    await keyboard.press('Control+Enter')
    await visitor.page.waitForURL('**/app/tasks/*')
    expect(await fits()).toBe(true)
  })

  it('ends with a merged pull request, within a time that is told here', async () => {
    const { keyboard } = visitor.page
    await visitor.page.locator('header [data-phase="in_review"]').waitFor({ timeout: 120_000 })
    await tabTo(/^Work$/)
    await keyboard.press('Enter')
    await visitor.page.locator('[data-file]').first().waitFor()
    expect(await fits()).toBe(true)
    expect(await visitor.barriers()).toEqual([])
    await visitor.page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur())
    await tabTo(/^Merge$/)
    await keyboard.press('Enter')
    await visitor.page.getByRole('alertdialog').waitFor()
    await keyboard.press('Enter')
    await visitor.page.locator('header [data-phase="merged"]').waitFor({ timeout: 120_000 })
    const { items } = await server.ask<{ items: { phase: string; pull: { phase: string } | null }[] }>(
      'GET',
      '/tasks?limit=10',
    )
    expect(items.map((it) => [it.phase, it.pull?.phase])).toEqual([['merged', 'merged']])
    console.log(`From the link to a merged pull: ${((performance.now() - began) / 1000).toFixed(1)} s`)
  })
})
