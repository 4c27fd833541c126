/** The page, the server and a browser, all real. One story, told in order. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { Server } from './server'
import { Visitor } from './visitor'

interface Sandbox {
  id: string
  phase: string
}

let server: Server
let visitor: Visitor

beforeAll(async () => {
  server = await Server.open()
  visitor = await Visitor.arrive()
})

afterAll(async () => {
  await visitor?.leave()
  await server?.close()
})

afterEach(() => {
  expect(visitor.complaints(), 'complaints of the browser').toEqual([])
})

const row = (id: string) => visitor.page.locator(`li[data-sandbox="${id}"]`)
const rowIn = (id: string, phase: string) => row(id).locator(`[data-phase="${phase}"]`)
const rowIds = () =>
  visitor.page
    .locator('li[data-sandbox]')
    .evaluateAll((rows) => rows.map((it) => it.getAttribute('data-sandbox') ?? ''))
const live = () => visitor.page.locator('[data-stream="live"]').waitFor()
const goTo = async (path: string) => {
  await visitor.page.goto(`${server.origin}/app${path}`)
}
const createOutside = (body: object = {}) => server.ask<Sandbox>('POST', '/sandboxes', body)

/** Waits until a sandbox that was not in `before` is ready on the page, and names it. */
async function readyNewcomer(before: readonly string[]): Promise<string> {
  const newcomer = () => rowIds().then((ids) => ids.find((id) => !before.includes(id)))
  await expect.poll(newcomer, { timeout: 20_000 }).toBeTruthy()
  const id = (await newcomer()) as string
  await rowIn(id, 'ready').waitFor()
  return id
}

describe('the door', () => {
  it('without a link explains where links come from', async () => {
    await goTo('/sign-in')
    await visitor.page.getByText('carrel sign-in').waitFor()
    expect(await visitor.barriers()).toEqual([])
  })

  it('leads a stranger to the sign-in page and remembers where they were going', async () => {
    await visitor.forgiving(/401/, async () => {
      await goTo('/keys')
      await visitor.page.waitForURL('**/app/sign-in?*')
    })
    expect(new URL(visitor.page.url()).searchParams.get('to')).toContain('/keys')
  })

  it('opens by a link, and takes the code out of the address', async () => {
    await visitor.page.goto(server.link)
    await visitor.page.waitForURL(`${server.origin}/app/`)
    await live()
    expect(await visitor.page.evaluate(() => window.location.hash)).toBe('')
  })

  it('does not open twice by the same link', async () => {
    await visitor.forgiving(/40[0-9]|410|422/, async () => {
      await visitor.page.goto('about:blank')
      await visitor.page.goto(server.link)
      await visitor.page.getByRole('alert').getByText('did not open').waitFor()
    })
  })
})

describe('the list', () => {
  it('teaches when it is empty', async () => {
    await goTo('/sandboxes')
    await visitor.page.getByText('carrel sandbox create').waitFor()
    expect(await visitor.barriers()).toEqual([])
  })

  it('shows a sandbox made in the dialog become ready without a reload', async () => {
    await live()
    const before = await rowIds()
    await visitor.page.getByRole('button', { name: 'New sandbox' }).first().click()
    await visitor.page.getByRole('dialog').waitFor()
    expect(await visitor.barriers()).toEqual([])
    await visitor.page.getByRole('button', { name: 'Create sandbox' }).click()
    await readyNewcomer(before)
  })

  it('says at the field what is wrong with it', async () => {
    await visitor.page.getByRole('button', { name: 'New sandbox' }).click()
    await visitor.page.getByRole('textbox', { name: 'Lifetime' }).fill('soon')
    await visitor.page.getByRole('button', { name: 'Create sandbox' }).click()
    await visitor.page.getByRole('alert').getByText('1h30m').waitFor()
    await visitor.page.getByRole('button', { name: 'Cancel' }).click()
    await visitor.page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  it('shows a sandbox made elsewhere as it happens', async () => {
    const { id } = await createOutside({ metadata: { from: 'outside' } })
    await rowIn(id, 'ready').waitFor()
  })

  it('can be worked by keyboard alone: make, move, open, come back', async () => {
    const before = await rowIds()
    await visitor.page.keyboard.press('n')
    await visitor.page.getByRole('dialog').waitFor()
    await visitor.page.keyboard.press('Control+Enter')
    await visitor.page.getByRole('dialog').waitFor({ state: 'detached' })
    await readyNewcomer(before)
    await visitor.page.keyboard.press('Escape')
    await visitor.page.keyboard.press('ArrowDown')
    const [first] = await rowIds()
    expect(
      await visitor.page.evaluate(() => document.activeElement?.closest('li')?.getAttribute('data-sandbox')),
    ).toBe(first)
    await visitor.page.keyboard.press('Enter')
    await visitor.page.getByRole('heading', { name: first as string }).waitFor()
    await visitor.page.keyboard.press('Escape')
    await visitor.page.waitForURL('**/app/sandboxes')
    await visitor.page.keyboard.press('?')
    await visitor.page.getByRole('dialog').getByText('By keyboard').waitFor()
    await visitor.page.keyboard.press('Escape')
    await visitor.page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  it('keeps its filter over a reload', async () => {
    const [id] = await rowIds()
    await visitor.page.getByRole('radio', { name: /^Ready/ }).check()
    await visitor.page.keyboard.press('/')
    await visitor.page.keyboard.type(id as string)
    await expect.poll(rowIds).toEqual([id])
    await visitor.page.reload()
    await expect.poll(rowIds).toEqual([id])
    expect(await visitor.page.getByLabel('Filter sandboxes').inputValue()).toBe(id)
    expect(await visitor.page.getByRole('radio', { name: /^Ready/ }).isChecked()).toBe(true)
    await goTo('/sandboxes')
    await live()
  })

  it('gives a sandbox back when the server refuses to destroy it, and says why', async () => {
    const { id } = await createOutside()
    await rowIn(id, 'ready').waitFor()
    const address = `**/api/v1/sandboxes/${id}`
    await visitor.page.route(address, (route) =>
      route.fulfill({
        status: 409,
        contentType: 'application/problem+json',
        body: JSON.stringify({
          type: 'about:blank',
          title: 'Conflict',
          status: 409,
          detail: 'It is being looked at.',
        }),
      }),
    )
    await visitor.forgiving(/409/, async () => {
      await visitor.page.getByRole('button', { name: `Destroy ${id}` }).click()
      await visitor.page.getByRole('button', { name: 'Destroy', exact: true }).click()
      await visitor.page.getByText('It is being looked at.').first().waitFor()
      await rowIn(id, 'ready').waitFor()
    })
    await visitor.page.unroute(address)
  })

  it('lets one go when it is destroyed, and keeps it among the gone', async () => {
    const [id] = (await rowIds()) as [string]
    await visitor.page.getByRole('button', { name: `Destroy ${id}` }).click()
    await visitor.page.getByRole('dialog').getByText(id).waitFor()
    await visitor.page.getByRole('button', { name: 'Destroy', exact: true }).click()
    await rowIn(id, 'gone').waitFor()
    await row(id).waitFor({ state: 'detached' })
    expect((await server.ask<Sandbox>('GET', `/sandboxes/${id}`)).phase).toBe('gone')
    await visitor.page.getByRole('switch', { name: 'Show gone' }).click()
    await visitor.page.getByRole('list', { name: 'Gone sandboxes' }).getByText(id).waitFor()
    expect(await visitor.barriers()).toEqual([])
    await visitor.page.getByRole('switch', { name: 'Show gone' }).click()
  })
})

describe('a crash of the server', () => {
  it('is survived: the page comes back by itself and misses nothing', async () => {
    await goTo('/sandboxes')
    await live()
    const here = await rowIds()
    expect(here.length).toBeGreaterThan(0)
    const leaves = here.at(-1) as string

    await visitor.forgiving(/ERR_|Failed to load resource/, async () => {
      await server.crash()
      await visitor.page.locator('[data-stream="reconnecting"]').waitFor()
      // What happens next happens while the page cannot hear, so only the journal can tell it.
      await visitor.page.route('**/api/v1/events**', (route) => route.abort())
      await server.restart()
      const { id: born } = await createOutside()
      await server.ask('DELETE', `/sandboxes/${leaves}`)
      await visitor.page.unroute('**/api/v1/events**')
      await live()
      await rowIn(born, 'ready').waitFor()
      await row(leaves).waitFor({ state: 'detached' })
    })

    const { items } = await server.ask<{ items: Sandbox[] }>('GET', '/sandboxes?limit=100')
    await expect.poll(async () => (await rowIds()).sort()).toEqual(items.map((it) => it.id).sort())
  })
})

describe('the other pages', () => {
  it("tell a sandbox's life from its journal", async () => {
    const [id] = (await rowIds()) as [string]
    await row(id).getByRole('link').click()
    await visitor.page.getByRole('heading', { name: 'Journal' }).waitFor()
    await visitor.page.getByText('Asked for').waitFor()
    await visitor.page
      .locator('ol[aria-label="Life of this sandbox"] [aria-current="step"]', { hasText: 'Ready' })
      .waitFor()
    expect(await visitor.barriers()).toEqual([])
  })

  it('pause and resume a sandbox where the provider can', async () => {
    const pause = visitor.page.getByRole('button', { name: 'Pause' })
    const { items } = await server.ask<{ items: { abilities: string[] }[] }>('GET', '/providers')
    if (!items.some((provider) => provider.abilities.includes('pause'))) {
      expect(await pause.count()).toBe(0)
      return
    }
    await pause.click()
    await visitor.page.locator('h1 ~ [data-phase="paused"]').waitFor()
    await visitor.page.getByRole('button', { name: 'Resume' }).click()
    await visitor.page.locator('h1 ~ [data-phase="ready"]').waitFor()
  })

  it('give a new lifetime', async () => {
    await visitor.page.getByRole('button', { name: 'Extend' }).click()
    await visitor.page.getByRole('menuitem', { name: '4 h' }).click()
    await visitor.page.getByText('Lifetime set to 4 h').waitFor()
  })

  it('say so when there is no such sandbox', async () => {
    await visitor.forgiving(/40[04]|422/, async () => {
      await goTo('/sandboxes/nosuchsandbox')
      await visitor.page.getByText('No such sandbox').waitFor()
    })
  })

  it('say so when there is no such page', async () => {
    await goTo('/nowhere')
    await visitor.page.getByText('No such shelf').waitFor()
  })

  it('make a key, show its secret once, and take it back', async () => {
    await goTo('/keys')
    await visitor.page.getByRole('button', { name: 'New key' }).click()
    await visitor.page.getByLabel('Name').fill('visitor')
    await visitor.page.getByRole('button', { name: 'Make key' }).click()
    const secret = await visitor.page.locator('[data-secret]').textContent()
    expect(secret).toMatch(/^crl_/)
    await visitor.page.getByRole('button', { name: 'I have it' }).click()
    await visitor.page.locator('[data-secret]').waitFor({ state: 'detached' })
    expect(await visitor.page.content()).not.toContain(secret)
    await visitor.page.getByRole('button', { name: 'Revoke visitor' }).click()
    await visitor.page.getByRole('button', { name: 'Revoke', exact: true }).click()
    await visitor.page.getByRole('list', { name: 'Keys' }).getByText('revoked').waitFor()
    expect(await visitor.barriers()).toEqual([])
  })

  it('tell who did what', async () => {
    await visitor.page.getByRole('link', { name: 'Audit' }).click()
    await visitor.page.getByRole('list', { name: 'Audit' }).waitFor()
    await visitor.page.getByText('key.create').first().waitFor()
    expect(await visitor.barriers()).toEqual([])
  })
})

describe('the look', () => {
  it('is dark when asked, stays dark over a reload, and can be read', async () => {
    await goTo('/settings')
    await live()
    await visitor.page.getByRole('button', { name: 'Dark' }).click()
    await visitor.page.reload()
    await live()
    expect(await visitor.page.evaluate(() => getComputedStyle(document.documentElement).colorScheme)).toBe(
      'dark',
    )
    expect(await visitor.barriers()).toEqual([])
    await visitor.page.getByRole('button', { name: 'As the system' }).click()
  })

  it.each(['/sandboxes', '/keys', '/audit'])(
    'of %s fits a phone without scrolling sideways',
    async (path) => {
      await visitor.page.setViewportSize({ width: 375, height: 760 })
      await goTo(path)
      await live()
      await visitor.page.locator('main li').first().waitFor()
      const [content, screen] = await visitor.page.evaluate(() => [
        document.documentElement.scrollWidth,
        window.innerWidth,
      ])
      expect(content).toBeLessThanOrEqual(screen as number)
    },
  )

  it("of a sandbox's page and the dialog fits a phone too", async () => {
    await goTo('/sandboxes')
    await live()
    await visitor.page.keyboard.press('n')
    await visitor.page.getByRole('button', { name: 'More' }).click()
    expect(await visitor.page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(
      true,
    )
    await visitor.page.getByRole('button', { name: 'Cancel' }).click()
    await visitor.page.locator('[data-row]').first().click()
    await visitor.page.getByRole('heading', { name: 'Journal' }).waitFor()
    expect(await visitor.page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(
      true,
    )
    await visitor.page.setViewportSize({ width: 1280, height: 860 })
  })
})

describe('leaving', () => {
  it('closes the door, and a key opens it again where the visitor wanted to go', async () => {
    await goTo('/sandboxes')
    await live()
    await visitor.forgiving(/401/, async () => {
      await visitor.page.getByRole('button', { name: 'Sign out' }).click()
      await visitor.page.waitForURL('**/app/sign-in')
      await goTo('/audit')
      await visitor.page.waitForURL('**/app/sign-in?*')
    })
    await visitor.page.getByLabel('Or paste a link or a key').fill(await server.adminKey())
    await visitor.page.getByRole('button', { name: 'Sign in' }).click()
    await visitor.page.waitForURL('**/app/audit')
    await visitor.page.getByRole('list', { name: 'Audit' }).waitFor()
  })
})
