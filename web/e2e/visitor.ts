/** Someone at a browser, who hears every complaint the browser makes. */
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AxeBuilder } from '@axe-core/playwright'
import { type BrowserContext, chromium, type Page, type Route } from 'playwright-core'

const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/**
 * What of the browser is switched off. This list stands in place of Playwright's, which switches off that frames of other sites keep
 * things apart: a browser that keeps no cookies for them then denies them all storage, and none that people have does that.
 */
const WITHOUT = [
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'MediaRouter',
  'OptimizationHints',
  'PaintHolding',
  // A page that was put in place of the server's own comes from nowhere, and nowhere may not talk to this machine.
  ...(process.env.CARREL_PAGE === 'dist'
    ? ['LocalNetworkAccessChecks', 'LocalNetworkAccessChecksWebSockets']
    : []),
]

const DIST = join(import.meta.dirname, '../dist')

/**
 * The page as it was just built, in place of the one inside the binary: for working on the page without building the server.
 * Everything else, the policy in the server's own headers too, stays real.
 */
async function fromDist(route: Route): Promise<void> {
  const { pathname } = new URL(route.request().url())
  const name = pathname.replace(/^\/app\/?/, '')
  const path = join(DIST, name)
  const file = name && existsSync(path) ? path : join(DIST, 'index.html')
  const policy = (await fetch(new URL('/app/', route.request().url()))).headers.get('content-security-policy')
  await route.fulfill({ path: file, headers: policy ? { 'content-security-policy': policy } : {} })
}

export class Visitor {
  readonly page: Page
  readonly #context: BrowserContext
  readonly #profile: string
  #complaints: string[] = []

  private constructor(context: BrowserContext, page: Page, profile: string) {
    this.#context = context
    this.page = page
    this.#profile = profile
    page.on('console', (message) => {
      if (message.type() === 'error') this.#complaints.push(`${message.text()} (${message.location().url})`)
    })
    page.on('pageerror', (error) => this.#complaints.push(String(error)))
  }

  static async arrive(): Promise<Visitor> {
    const executablePath = process.env.CHROMIUM ?? BROWSERS.find(existsSync)
    if (!executablePath) throw new Error('No browser: install chromium, or name one in CHROMIUM.')
    const profile = await mkdtemp(join(tmpdir(), 'carrel-browser-'))
    const context = await chromium.launchPersistentContext(profile, {
      executablePath,
      headless: true,
      viewport: { width: 1280, height: 860 },
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
        `--disable-features=${WITHOUT.join(',')}`,
      ],
    })
    if (process.env.CARREL_PAGE === 'dist') await context.route('**/app/**', fromDist)
    const page = context.pages()[0] ?? (await context.newPage())
    return new Visitor(context, page, profile)
  }

  /** What the browser complained about since the last time we asked. */
  complaints(): string[] {
    const heard = this.#complaints
    this.#complaints = []
    return heard
  }

  /** Does something the browser is bound to complain about, and forgives those complaints alone. */
  async forgiving<T>(expected: RegExp, act: () => Promise<T>): Promise<T> {
    const before = this.complaints()
    const outcome = await act()
    this.#complaints = [...before, ...this.complaints().filter((complaint) => !expected.test(complaint))]
    return outcome
  }

  /** Waits until nothing is asked for, nothing stands in for something else, and nothing moves that will stop moving. */
  async settle(): Promise<void> {
    await this.page.waitForFunction(
      () =>
        document.fonts.status === 'loaded' &&
        document.querySelectorAll(
          '[role="status"][aria-label="Loading"], main [aria-hidden].animate-breathe.bg-well',
        ).length === 0,
    )
    await this.page.evaluate(
      () =>
        new Promise((done) =>
          requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 250))),
        ),
    )
  }

  /** What a strict reader of accessibility rules finds serious. Animations must have ended for colours to be true. */
  async barriers(): Promise<string[]> {
    const seen = await this.look()
    // A button that is on its way from one colour to another is looked at again when it has arrived.
    return seen.length > 0 ? this.look() : seen
  }

  private async look(): Promise<string[]> {
    await this.page.evaluate(() =>
      Promise.allSettled(
        document
          .getAnimations()
          .filter((it) => it.effect?.getComputedTiming().iterations !== Number.POSITIVE_INFINITY)
          .map((it) => it.finished),
      ),
    )
    const { violations } = await new AxeBuilder({ page: this.page }).analyze()
    return violations
      .filter((it) => it.impact === 'serious' || it.impact === 'critical')
      .map((it) => `${it.id}: ${it.nodes.map((node) => node.target.join(' ')).join(', ')} (${it.help})`)
  }

  /** Drags the card of a task into a column, once the card has come to rest. */
  async drag(id: number, to: string): Promise<void> {
    const { page } = this
    const card = page.locator(`[data-task="${id}"]`)
    await card.hover({ position: { x: 40, y: 12 } })
    const from = await card.boundingBox()
    const target = await page.locator(`[data-column="${to}"]`).boundingBox()
    if (!from || !target) throw new Error(`task-${id} or ${to} is not to be seen`)
    await page.mouse.down()
    await page.mouse.move(from.x + 60, from.y + 24, { steps: 4 })
    await page.mouse.move(target.x + target.width / 2, target.y + 60, { steps: 12 })
    // A hand that lets go before the page has seen where it is drops nothing.
    await page.locator(`[data-column="${to}"][data-over]`).waitFor()
    await page.mouse.up()
  }

  async leave(): Promise<void> {
    await this.#context.close()
    await rm(this.#profile, { recursive: true, force: true, maxRetries: 5 })
  }
}
