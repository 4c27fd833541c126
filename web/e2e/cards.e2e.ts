/** What is done with cards, everything real: drags that ask and are refused, filters, wishes with all they can say, notices. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Task } from '../src/task/types'
import { Server } from './server'
import { Visitor } from './visitor'

let server: Server
let visitor: Visitor

beforeAll(async () => {
  server = await Server.open({ CARREL_DEMO_PAUSE: '0.1', CARREL_LOCAL_DISK: 'folder' })
  visitor = await Visitor.arrive()
  await server.ask('POST', '/repos', { new: true, name: 'sample' })
  await server.ask('POST', '/repos', { new: true, name: 'other' })
  await server.ask('POST', '/agents', {
    name: 'patient',
    dialect: 'shell',
    command: 'echo "I take my time"; exec sleep 1000',
  })
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

const page = () => visitor.page
const live = () => page().locator('[data-stream="live"]').first().waitFor()
const goTo = async (path: string) => {
  await page().goto(`${server.origin}/app${path}`)
  await live()
}
const write = (body: object) => server.ask<Task>('POST', '/tasks', { repo: 'sample', agent: 'demo', ...body })
const task = (id: number) => server.ask<Task>('GET', `/tasks/${id}`)
const reaches = async (id: number, phase: string) => {
  const now = await server.ask<Task>('GET', `/tasks/${id}?wait=${phase}&timeout=120`)
  expect(now.phase, JSON.stringify(now.needs)).toBe(phase)
}
const column = (name: string) => page().locator(`[data-column="${name}"]`)
const card = (id: number) => page().locator(`[data-task="${id}"]`)
const cardIn = (id: number, name: string) => column(name).locator(`[data-task="${id}"]`)
const drag = (id: number, to: string) => visitor.drag(id, to)
const question = () => page().getByRole('alertdialog')
const answer = async (name: string) => {
  await question().getByRole('button', { name, exact: true }).click()
  await question().waitFor({ state: 'detached' })
}

describe('a drag', () => {
  it('that costs money asks first, and a no leaves everything as it was', async () => {
    await page().goto(server.link)
    const { id } = await write({ agent: 'claude', title: 'Think hard', budget_usd: 2 })
    await cardIn(id, 'backlog').waitFor()
    await drag(id, 'queued')
    await question().getByText('It uses a model that costs money, $2.00 at most.').waitFor()
    expect(await visitor.barriers()).toEqual([])
    await answer('Keep as it is')
    await cardIn(id, 'backlog').waitFor()
    expect((await task(id)).phase).toBe('backlog')
    await server.ask('POST', `/tasks/${id}/close`)
  })

  it('out of Working asks, and stops the agent', async () => {
    const { id } = await write({ agent: 'patient', title: 'Wait for a word', start: true })
    await cardIn(id, 'working').getByText('I take my time').waitFor({ timeout: 60_000 })
    await drag(id, 'backlog')
    await question().getByText('The agent leaves in the middle of its turn').waitFor()
    await answer('Keep as it is')
    await cardIn(id, 'working').waitFor()
    await drag(id, 'backlog')
    await answer('Stop')
    await expect.poll(async () => (await task(id)).want, { timeout: 30_000 }).toBe('rest')
    await server.ask('POST', `/tasks/${id}/close`)
  })

  it('that the server refuses brings the card back, with the reason of the server', async () => {
    const { id } = await write({ title: 'Describe the desk', start: true })
    await cardIn(id, 'in_review').waitFor({ timeout: 90_000 })
    await visitor.forgiving(/409/, async () => {
      await drag(id, 'queued')
      await page().getByText('nothing failed; say something to its agent').first().waitFor()
      await cardIn(id, 'in_review').waitFor()
    })
    expect((await task(id)).phase).toBe('in_review')
    await drag(id, 'done')
    await question().getByText('goes through the lane').waitFor()
    await answer('Keep as it is')
    await cardIn(id, 'in_review').waitFor()
    await drag(id, 'done')
    await answer('Merge')
    await cardIn(id, 'done').waitFor({ timeout: 90_000 })
    expect((await task(id)).phase).toBe('merged')
  })

  it('to Done closes a wish that nobody began, after asking', async () => {
    const { id } = await write({ title: 'Not wanted any more' })
    await cardIn(id, 'backlog').waitFor()
    await drag(id, 'done')
    await question().getByText(`Close task-${id} without merging?`).waitFor()
    await answer('Close')
    await cardIn(id, 'done').waitFor()
    await reaches(id, 'closed')
  })
})

describe('a card', () => {
  it('says who works, what on, where, how far apart, and what came of it', async () => {
    const { id } = await write({ agent: 'patient', title: 'Sit and wait', labels: ['slow'], start: true })
    const working = cardIn(id, 'working')
    await working.getByText('I take my time').waitFor({ timeout: 60_000 })
    await working.getByRole('img', { name: 'Sandbox running' }).waitFor()
    await working.getByTitle('At work for').waitFor()
    const { isolation } = await server.ask<{ isolation: string }>(
      'GET',
      `/sandboxes/${(await task(id)).sandbox_id}`,
    )
    await working.getByTitle(`Isolated by ${isolation}`).waitFor()
    await working.getByText('patient').waitFor()
    await working.getByText('slow', { exact: true }).waitFor()
    const { id: other } = await write({ title: 'Describe the window', start: true })
    const review = cardIn(other, 'in_review')
    await review.waitFor({ timeout: 90_000 })
    await review.getByTitle(/^Pull request \d+$/).waitFor()
    await review.getByTitle(/ahead of and \d+ behind main/).waitFor()
    for (const done of [id, other]) await server.ask('POST', `/tasks/${done}/close`)
  })

  it('that waits says what for', async () => {
    const first = await write({ title: 'Buy the paint' })
    const second = await write({
      title: 'Paint the wall',
      depends_on: [{ task_id: first.id, until: 'merged' }],
      start: true,
    })
    await cardIn(second.id, 'queued').getByText(`waits for task ${first.id}`).waitFor({ timeout: 60_000 })
    expect(await visitor.barriers()).toEqual([])
    for (const { id } of [second, first]) await server.ask('POST', `/tasks/${id}/close`)
  })
})

describe('two people at two browsers', () => {
  it('see what the other does with a card, both ways', async () => {
    const { id } = await write({ agent: 'patient', title: 'Seen by two', labels: ['shared'] })
    await goTo('/?label=shared')
    await cardIn(id, 'backlog').waitFor()
    const { path } = await server.ask<{ path: string }>('POST', '/sign-in/link')
    const other = await Visitor.arrive()
    try {
      await other.page.goto(`${server.origin}${path}`)
      await other.page.locator('[data-stream="live"]').first().waitFor()
      await other.page.goto(`${server.origin}/app/?label=shared`)
      const seen = (where: Visitor, column: string) =>
        where.page.locator(`[data-column="${column}"] [data-task="${id}"]`).waitFor({ timeout: 60_000 })
      await seen(other, 'backlog')
      // One starts it, the other sees it at work; the other stops it, and the first sees it come back.
      await drag(id, 'queued')
      await seen(other, 'working')
      await other.drag(id, 'backlog')
      await other.page.getByRole('alertdialog').getByRole('button', { name: 'Stop', exact: true }).click()
      await seen(visitor, 'backlog')
      await seen(other, 'backlog')
      expect(other.complaints()).toEqual([])
    } finally {
      await other.leave()
    }
    await server.ask('POST', `/tasks/${id}/close`)
  })
})

describe('the filters', () => {
  it('by repository, agent and label are in the address, and there after a reload', async () => {
    const one = await write({ title: 'Paint the shelf', labels: ['paint'] })
    const two = await write({ title: 'Mend the shelf', repo: 'other', agent: 'patient', labels: ['wood'] })
    await goTo('/')
    await card(one.id).waitFor()
    for (const [label, value, shown, hidden] of [
      ['Label', 'paint', one, two],
      ['Repository', 'other', two, one],
      ['Agent', 'demo', one, two],
    ] as const) {
      await page().getByRole('combobox', { name: label, exact: true }).selectOption(value)
      await card(hidden.id).waitFor({ state: 'detached' })
      await page().reload()
      await live()
      await card(shown.id).waitFor()
      expect(await card(hidden.id).count()).toBe(0)
      expect([...new URL(page().url()).searchParams.values()].join()).toContain(value)
      await page().getByRole('combobox', { name: label, exact: true }).selectOption('')
      await card(hidden.id).waitFor()
    }
    await page().getByLabel('Filter tasks').fill('no card is called so')
    await page().getByText('No card passes this filter.').waitFor()
    await page().getByRole('button', { name: 'Clear the filter' }).click()
    await card(one.id).waitFor()
    for (const { id } of [one, two]) await server.ask('POST', `/tasks/${id}/close`)
  })
})

describe('the keyboard', () => {
  it('finds a task and opens it, lists all keys, and goes from place to place', async () => {
    const { id } = await write({ title: 'Polish the brass' })
    await goTo('/')
    await card(id).waitFor()
    const { keyboard } = page()
    await keyboard.press('Control+k')
    await page().getByPlaceholder('A task, a page, a verb…').waitFor()
    expect(await visitor.barriers()).toEqual([])
    await keyboard.type('polish')
    await page()
      .getByRole('option', { name: /Polish the brass/ })
      .waitFor()
    await keyboard.press('Enter')
    await page().getByRole('heading', { name: 'Polish the brass' }).waitFor()
    await keyboard.press('?')
    await page().getByRole('dialog', { name: 'By keyboard' }).waitFor()
    await keyboard.press('Escape')
    await page().getByRole('dialog').waitFor({ state: 'detached' })
    await keyboard.press('g')
    await keyboard.press('r')
    await page().waitForURL('**/app/repos')
    await server.ask('POST', `/tasks/${id}/close`)
  })

  it('chooses a card, opens its menu, and finds each part of its page', async () => {
    const { id } = await write({ title: 'Wind the clock', labels: ['clock'] })
    await goTo('/?label=clock')
    await card(id).waitFor()
    const { keyboard } = page()
    await keyboard.press('ArrowDown')
    const onCard = () =>
      expect
        .poll(() => page().evaluate(() => document.activeElement?.textContent), { timeout: 30_000 })
        .toBe('Wind the clock')
    await onCard()
    await keyboard.press('x')
    await card(id).getByRole('checkbox', { checked: true }).waitFor()
    await keyboard.press('x')
    await card(id).getByRole('checkbox', { checked: false }).waitFor()
    await keyboard.press('.')
    await page().getByRole('menu').waitFor()
    await keyboard.press('Escape')
    await page().getByRole('menu').waitFor({ state: 'detached' })
    await onCard()
    await keyboard.press('Enter')
    await page().getByRole('heading', { name: 'Wind the clock' }).waitFor()
    const tabs = ['Diff', 'Terminal', 'Preview', 'Files', 'Network', 'Logs', 'Details']
    for (const [at, name] of tabs.entries()) {
      await keyboard.press(String(at + 1))
      await page().getByRole('tab', { name, selected: true }).waitFor()
    }
    await keyboard.press('r')
    await expect
      .poll(() => page().evaluate(() => document.activeElement?.getAttribute('aria-label')))
      .toBe('Message to the agent')
    await server.ask('POST', `/tasks/${id}/close`)
  })

  it('asks a verb of a task from the palette, by its number', async () => {
    const { id } = await write({ agent: 'patient', title: 'Water the plants' })
    await goTo('/')
    await card(id).waitFor()
    const { keyboard } = page()
    await keyboard.press('Control+k')
    await page().getByPlaceholder('A task, a page, a verb…').waitFor()
    await keyboard.type(`start ${id}`)
    await page()
      .getByRole('option', { name: `Start task-${id}` })
      .waitFor()
    expect(await visitor.barriers()).toEqual([])
    await keyboard.press('Enter')
    await cardIn(id, 'working').waitFor({ timeout: 60_000 })
    await goTo(`/tasks/${id}`)
    await page().getByRole('heading', { name: 'Water the plants' }).waitFor()
    await keyboard.press('Control+k')
    await page().getByPlaceholder('A task, a page, a verb…').waitFor()
    await keyboard.type('close')
    await page()
      .getByRole('option', { name: `Close task-${id}` })
      .waitFor()
    await keyboard.press('Enter')
    await answer('Close')
    await reaches(id, 'closed')
  })
})

describe('a wish', () => {
  it('begins from a template, or from the address of an issue', async () => {
    await goTo('/')
    await page().keyboard.press('n')
    const dialog = page().getByRole('dialog')
    const field = dialog.getByLabel('What should be done?')
    await dialog.getByRole('button', { name: 'Fix a bug' }).click()
    expect(await field.inputValue()).toContain('Begin with a test that fails because of it.')
    await field.fill('https://github.com/acme/api/issues/12')
    await dialog.getByText('acme/api#12').waitFor()
    await dialog.getByLabel('Repository').selectOption('sample')
    await dialog.getByLabel('Agent').selectOption('demo')
    await dialog.getByRole('switch', { name: 'Start at once' }).press('Space')
    await page().keyboard.press('Control+Enter')
    await dialog.waitFor({ state: 'detached' })
    const [made] = (await server.ask<{ items: Task[] }>('GET', '/tasks?limit=1')).items
    expect(made).toMatchObject({ title: 'Resolve acme/api#12', phase: 'backlog' })
    expect(made?.prompt).toContain('https://github.com/acme/api/issues/12')
    await server.ask('POST', `/tasks/${made?.id}/close`)
  })

  it('can say how far apart, what it may reach, what it may cost, and what it waits for', async () => {
    const first = await write({ title: 'Lay the floor' })
    await goTo('/')
    await card(first.id).waitFor()
    await page().keyboard.press('n')
    const dialog = page().getByRole('dialog')
    await dialog.getByLabel('What should be done?').fill('Carry the desk in\n\nMind the floor.')
    await dialog.getByLabel('Repository').selectOption('sample')
    await dialog.getByLabel('Agent').selectOption('demo')
    await dialog.getByRole('button', { name: 'More' }).click()
    await dialog.getByLabel('Isolation').selectOption('namespace')
    await dialog.getByLabel('Budget, $').fill('nothing')
    await dialog.getByLabel('Network').selectOption('allow')
    await dialog.getByLabel('Hosts').fill('crates.io, *.crates.io')
    await dialog.getByLabel('Labels').fill('heavy urgent')
    await dialog.getByLabel('Priority').fill('3')
    await dialog.getByLabel('Wait for a task').selectOption(String(first.id))
    await dialog.getByLabel(`Until task-${first.id}`).selectOption('in_review')
    await dialog.getByRole('switch', { name: 'Start at once' }).press('Space')
    await page().keyboard.press('Control+Enter')
    await dialog.getByText('Write an amount above zero').waitFor()
    expect(await visitor.barriers()).toEqual([])
    await dialog.getByLabel('Budget, $').fill('2,50')
    await page().keyboard.press('Control+Enter')
    await dialog.waitFor({ state: 'detached' })
    const [made] = (await server.ask<{ items: Task[] }>('GET', '/tasks?limit=1')).items
    expect(made).toMatchObject({
      title: 'Carry the desk in',
      isolation: 'namespace',
      budget_usd: 2.5,
      network: { mode: 'allow', allow: ['crates.io', '*.crates.io'] },
      labels: ['heavy', 'urgent'],
      priority: 3,
      depends_on: [{ task_id: first.id, until: 'in_review' }],
    })
    await card(made?.id ?? 0)
      .getByText(`after task-${first.id}`)
      .waitFor()
    for (const id of [made?.id, first.id]) await server.ask('POST', `/tasks/${id}/close`)
  })
})

describe('what is written to an agent', () => {
  it('is there after a reload, and pictures are pasted into it', async () => {
    const { id } = await write({ agent: 'patient', title: 'Look at this', start: true })
    await reaches(id, 'working')
    await goTo(`/tasks/${id}`)
    const field = page().getByLabel('Message to the agent')
    await page().getByRole('button', { name: 'Attach files' }).waitFor({ timeout: 60_000 })
    await field.fill('It looks wrong here')
    await page().reload()
    await live()
    expect(await field.inputValue()).toBe('It looks wrong here')
    await page().getByRole('button', { name: 'Attach files' }).waitFor()
    await field.evaluate((area) => {
      for (const text of ['one', 'two']) {
        const clipboardData = new DataTransfer()
        clipboardData.items.add(new File([text], 'image.png', { type: 'image/png' }))
        area.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }))
      }
    })
    const attached = page().getByRole('list', { name: 'Attachments' })
    await attached.getByText('image.png', { exact: true }).waitFor()
    await attached.getByText('image-2.png', { exact: true }).waitFor()
    await page().getByRole('button', { name: 'After this turn' }).click()
    await attached.waitFor({ state: 'detached' })
    expect(await field.inputValue()).toBe('')
    const { sandbox_id } = await task(id)
    const read = await server.ask<{ stdout: string }>('POST', `/sandboxes/${sandbox_id}/execute`, {
      command: 'cd /tmp/attachments && cat image.png image-2.png',
    })
    expect(read.stdout).toBe('onetwo')
    await server.ask('POST', `/tasks/${id}/close`)
  })
})

describe('a page that nobody looks at', () => {
  it('tells of a card that needs somebody, and of nothing else', async () => {
    await goTo('/settings')
    // What the browser shows on the desktop is not part of the page: we stand where it would.
    await page().addInitScript(() => {
      const told: string[] = []
      Object.assign(window, { told })
      class Notice {
        static permission = 'granted'
        static requestPermission = async () => 'granted'
        onclick: (() => void) | undefined
        constructor(title: string) {
          told.push(title)
        }
        close() {}
      }
      Object.defineProperty(window, 'Notification', { value: Notice })
      class Bell extends AudioContext {
        override createOscillator() {
          told.push('bell')
          return super.createOscillator()
        }
      }
      Object.defineProperty(window, 'AudioContext', { value: Bell })
    })
    await goTo('/settings')
    await page().getByRole('switch', { name: 'A small bell' }).click()
    await page()
      .getByRole('switch', { name: /A notice on the desktop/ })
      .click()
    await goTo('/')
    await page().evaluate(() => {
      Object.defineProperty(document, 'hidden', { value: true, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))
    })
    // Hidden tabs agree who of them listens: from then on this one does, as the only one.
    const listens = () =>
      page().evaluate(async () =>
        (await navigator.locks.query()).held?.some((it) => it.name === 'carrel.listener'),
      )
    await expect.poll(listens, { timeout: 30_000 }).toBe(true)
    const told = () => page().evaluate(() => (window as unknown as { told: string[] }).told)
    const quiet = await write({ title: 'Nothing to say', start: true })
    await reaches(quiet.id, 'in_review')
    const asks = await write({ title: 'Something to ask', prompt: 'Paint the door [ask]', start: true })
    await reaches(asks.id, 'needs_you')
    await expect.poll(told, { timeout: 30_000 }).toContain(`task-${asks.id} has a question`)
    expect((await told()).filter((it) => it !== 'bell')).toEqual([`task-${asks.id} has a question`])
    expect(await told()).toContain('bell')
    await expect.poll(() => page().title()).toMatch(/^\(1\) /)
    await page().evaluate(() => localStorage.removeItem('carrel.notices'))
    for (const { id } of [quiet, asks]) await server.ask('POST', `/tasks/${id}/close`)
  })
})

describe('web push', () => {
  it('is switched on and off in this browser, and the house knows', async () => {
    await page().context().grantPermissions(['notifications'], { origin: server.origin })
    // The push service is a machine of the browser's maker, which is not asked here: we stand where it would.
    await page().addInitScript(() => {
      let held: object | null = null
      const text = (bytes: ArrayBuffer) =>
        btoa(String.fromCharCode(...new Uint8Array(bytes)))
          .replaceAll('+', '-')
          .replaceAll('/', '_')
          .replaceAll('=', '')
      Object.assign(PushManager.prototype, {
        async subscribe(options: object) {
          const pair = await crypto.subtle.generateKey({ name: 'ECDH', namedCurve: 'P-256' }, true, [
            'deriveBits',
          ])
          const p256dh = text(await crypto.subtle.exportKey('raw', pair.publicKey))
          const auth = text(crypto.getRandomValues(new Uint8Array(16)).buffer)
          const endpoint = 'https://push.example.org/send/a-browser'
          held = {
            endpoint,
            options,
            toJSON: () => ({ endpoint, keys: { p256dh, auth } }),
            unsubscribe: async () => {
              held = null
              return true
            },
          }
          return held
        },
        getSubscription: async () => held,
      })
    })
    await goTo('/settings')
    const push = page().getByRole('switch', { name: 'Also when no page is open, by web push' })
    const known = async () =>
      (await server.ask<{ items: { service: string }[] }>('GET', '/notices')).items.map((it) => it.service)
    await push.click()
    await expect.poll(known, { timeout: 30_000 }).toEqual(['push.example.org'])
    await page()
      .getByRole('switch', { name: 'Also when no page is open, by web push', checked: true })
      .waitFor()
    expect(await visitor.barriers()).toEqual([])
    await push.click()
    await expect.poll(known, { timeout: 30_000 }).toEqual([])
  })

  it('shows what the house says to a browser without a page, and nothing to who looks at one', async () => {
    const devtools = await page().context().newCDPSession(page())
    const registered = new Promise<string>((done) => {
      devtools.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
        const ours = registrations.find((it) => it.scopeURL.startsWith(server.origin) && !it.isDeleted)
        if (ours) done(ours.registrationId)
      })
    })
    await devtools.send('ServiceWorker.enable')
    const registrationId = await registered
    const deliver = (title: string) =>
      devtools.send('ServiceWorker.deliverPushMessage', {
        origin: server.origin,
        registrationId,
        data: JSON.stringify({ title, body: 'Which colour?', task: 7, path: '/app/tasks/7' }),
      })
    const shown = () =>
      page().evaluate(async () => {
        const worker = await navigator.serviceWorker.getRegistration('/app/')
        return (await worker?.getNotifications())?.map((it) => `${it.title}: ${it.body} ${it.data.path}`)
      })
    await deliver('Whoever looks sees the hand already')
    await page().goto('about:blank')
    await deliver('task-7 has a question')
    await goTo('/settings')
    await expect
      .poll(shown, { timeout: 30_000 })
      .toEqual(['task-7 has a question: Which colour? /app/tasks/7'])
    await devtools.detach()
  })
})
