/** The board with everything real: server, sandboxes, git, an agent that is a script, and a browser. One story, told in order. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Moment, Task } from '../src/task/types'
import { Server } from './server'
import { Visitor } from './visitor'

let server: Server
let visitor: Visitor

beforeAll(async () => {
  server = await Server.open({ CARREL_DEMO_PAUSE: '0.1', CARREL_LOCAL_DISK: 'folder' })
  visitor = await Visitor.arrive()
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

const live = () => visitor.page.locator('[data-stream="live"]').first().waitFor()
const goTo = async (path: string) => {
  await visitor.page.goto(`${server.origin}/app${path}`)
  await live()
}
const column = (name: string) => visitor.page.locator(`[data-column="${name}"]`)
const card = (id: number) => visitor.page.locator(`[data-task="${id}"]`)
const cardIn = (id: number, name: string) => column(name).locator(`[data-task="${id}"]`)
const write = (body: object) => server.ask<Task>('POST', '/tasks', { repo: 'sample', agent: 'demo', ...body })
const task = (id: number) => server.ask<Task>('GET', `/tasks/${id}`)
/** Follows a task until it is in a phase; the server waits on our behalf. */
const reaches = async (id: number, phase: string) => {
  const now = await server.ask<Task>('GET', `/tasks/${id}?wait=${phase}&timeout=120`)
  expect(now.phase, JSON.stringify(now.needs)).toBe(phase)
  return now
}
const drag = (id: number, to: string) => visitor.drag(id, to)
const sure = (act: string) =>
  visitor.page.getByRole('alertdialog').getByRole('button', { name: act, exact: true }).click()

describe('the first run', () => {
  it('is three steps: a repository, an agent, go', async () => {
    await visitor.page.goto(server.link)
    await visitor.page.getByRole('heading', { name: 'Welcome to Carrel' }).waitFor()
    expect(await visitor.barriers()).toEqual([])
    await visitor.page.getByRole('button', { name: /A sample/ }).click()
    await visitor.page.getByRole('button', { name: /demo/i }).first().click()
    await visitor.page.getByRole('button', { name: 'Go', exact: true }).click()
    await visitor.page.waitForURL('**/app/tasks/*')
  })

  it('shows what the agent says while it says it', async () => {
    await visitor.page.getByRole('log').getByText('I am the demo agent').first().waitFor()
  })

  it('ends with a merged pull request', async () => {
    await visitor.page.locator('header [data-phase="in_review"]').waitFor({ timeout: 90_000 })
    await visitor.page.locator('[data-file]').first().waitFor()
    expect(await visitor.barriers()).toEqual([])
    await visitor.page.getByRole('button', { name: 'Merge', exact: true }).click()
    await sure('Merge')
    await visitor.page.locator('header [data-phase="merged"]').waitFor({ timeout: 90_000 })
  })
})

describe('the board', () => {
  it('shows every card in its column, and what was merged is done', async () => {
    await goTo('/')
    await cardIn(1, 'done').waitFor()
    expect(await visitor.barriers()).toEqual([])
  })

  it('takes a new task by keyboard alone, and leads to it', async () => {
    await visitor.page.keyboard.press('n')
    await visitor.page.getByRole('dialog').getByLabel('What should be done?').waitFor()
    expect(await visitor.barriers()).toEqual([])
    await visitor.page.keyboard.type('Describe the lamp')
    await visitor.page.getByRole('switch', { name: 'Start at once' }).press('Space')
    await visitor.page.keyboard.press('Control+Enter')
    await cardIn(2, 'backlog').waitFor()
    // A dialog that is still leaving keeps the keys to itself.
    await visitor.page.getByRole('dialog').waitFor({ state: 'detached' })
    await visitor.page.keyboard.press('ArrowDown')
    await expect
      .poll(
        () =>
          visitor.page.evaluate(() =>
            document.activeElement?.closest('[data-task]')?.getAttribute('data-task'),
          ),
        { timeout: 30_000 },
      )
      .toBe('2')
    await visitor.page.keyboard.press('Enter')
    await visitor.page.getByRole('heading', { name: 'Describe the lamp' }).waitFor()
    await visitor.page.keyboard.press('Escape')
    await card(2).waitFor()
  })

  it('starts a card that is dragged, and follows it to its review', async () => {
    await drag(2, 'queued')
    await cardIn(2, 'in_review').waitFor({ timeout: 90_000 })
    expect((await task(2)).pull?.number).toBeGreaterThan(0)
  })

  it('shows in one window what was done in another', async () => {
    const other = await visitor.page.context().newPage()
    await other.goto(`${server.origin}/app/`)
    await other.locator('[data-stream="live"]').first().waitFor()
    const { id } = await write({ title: 'Seen by both' })
    await card(id).waitFor()
    await other.locator(`[data-column="backlog"] [data-task="${id}"]`).waitFor()
    await other.close()
  })

  it('keeps its filter in the address', async () => {
    await visitor.page.keyboard.press('/')
    await visitor.page.keyboard.type('lamp')
    await card(3).waitFor({ state: 'detached' })
    expect(new URL(visitor.page.url()).searchParams.get('text')).toContain('lamp')
    await visitor.page.reload()
    await live()
    await card(2).waitFor()
    expect(await card(3).count()).toBe(0)
    await goTo('/')
  })

  it('gives a card back when the server refuses, and says why', async () => {
    const address = '**/api/v1/tasks/3/start'
    await visitor.page.route(address, (route) =>
      route.fulfill({
        status: 409,
        contentType: 'application/problem+json',
        body: JSON.stringify({
          type: 'about:blank',
          title: 'Conflict',
          status: 409,
          detail: 'The house is full.',
        }),
      }),
    )
    await visitor.forgiving(/409/, async () => {
      await drag(3, 'queued')
      await visitor.page.getByText('The house is full.').first().waitFor()
      await cardIn(3, 'backlog').waitFor()
    })
    await visitor.page.unroute(address)
  })

  it('refuses a drop that means nothing, in words', async () => {
    await drag(2, 'needs_you')
    await visitor.page.getByText('Agents raise their hand themselves').first().waitFor()
    await cardIn(2, 'in_review').waitFor()
  })

  it('does one thing to many cards', async () => {
    const ids = (await Promise.all([write({ title: 'One of two' }), write({ title: 'Two of two' })])).map(
      (it) => it.id,
    )
    for (const id of ids) {
      await card(id).hover()
      await visitor.page.getByLabel(`Select task-${id}`).check()
    }
    await visitor.page
      .getByRole('region', { name: 'Chosen tasks' })
      .getByRole('button', { name: 'Close' })
      .click()
    await sure('Close')
    for (const id of ids) await cardIn(id, 'done').waitFor()
  })

  it('tells every refusal, and keeps those cards chosen', async () => {
    const ids = (await Promise.all([write({ title: 'Not now' }), write({ title: 'Nor this' })])).map(
      (it) => it.id,
    )
    const address = /\/api\/v1\/tasks\/\d+\/close$/
    await visitor.page.route(address, (route) =>
      route.fulfill({
        status: 409,
        contentType: 'application/problem+json',
        body: JSON.stringify({
          type: 'about:blank',
          title: 'Conflict',
          status: 409,
          detail: `It is held: ${route.request().url().split('/').at(-2)}.`,
        }),
      }),
    )
    for (const id of ids) {
      await card(id).hover()
      await visitor.page.getByLabel(`Select task-${id}`).check()
    }
    const bar = visitor.page.getByRole('region', { name: 'Chosen tasks' })
    await visitor.forgiving(/409/, async () => {
      await bar.getByRole('button', { name: 'Close' }).click()
      await sure('Close')
      for (const id of ids)
        await bar.locator(`[data-refused="${id}"]`).getByText(`It is held: ${id}.`).waitFor()
    })
    expect(await visitor.barriers()).toEqual([])
    await visitor.page.unroute(address)
    await bar.getByRole('button', { name: 'Close' }).click()
    await sure('Close')
    for (const id of ids) await cardIn(id, 'done').waitFor()
    await bar.waitFor({ state: 'detached' })
  })
})

describe('a question', () => {
  let id: number

  it('raises a hand: on the card, in the rail, in the title', async () => {
    await goTo('/')
    id = (await write({ title: 'Ask first', prompt: 'Paint the door [ask]', start: true })).id
    await cardIn(id, 'needs_you').waitFor({ timeout: 90_000 })
    await cardIn(id, 'needs_you')
      .getByText(/Shall I go on/)
      .waitFor()
    await cardIn(id, 'needs_you')
      .getByRole('img', { name: /has a question/ })
      .waitFor()
    await expect.poll(() => visitor.page.title()).toMatch(/^\(1\) /)
  })

  it('can be answered on a phone, and the work goes on', async () => {
    await visitor.page.setViewportSize({ width: 390, height: 844 })
    await goTo(`/tasks/${id}`)
    await visitor.page.getByRole('button', { name: 'Answer' }).click()
    await visitor.page.getByLabel('Message to the agent').fill('Yes, please.')
    expect(await visitor.barriers()).toEqual([])
    await visitor.page.getByRole('button', { name: 'Send' }).click()
    await visitor.page.getByRole('log').getByText('Yes, please.', { exact: true }).waitFor()
    await reaches(id, 'in_review')
    await visitor.page.getByRole('button', { name: 'Work', exact: true }).click()
    await visitor.page.locator('[data-file]').first().waitFor()
    expect(await visitor.page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(
      true,
    )
    await visitor.page.getByRole('button', { name: 'Merge', exact: true }).click()
    await sure('Merge')
    await visitor.page.locator('header [data-phase="merged"]').waitFor({ timeout: 90_000 })
    await visitor.page.setViewportSize({ width: 1280, height: 860 })
  })
})

describe('a review', () => {
  it('collects comments on lines and sends them to the agent in one message', async () => {
    await goTo('/tasks/2?tab=diff')
    const file = visitor.page.locator('[data-file]').first()
    await file.waitFor()
    await file.getByRole('button', { name: /^Comment on/ }).click()
    await visitor.page.getByRole('button', { name: 'Write', exact: true }).click()
    await visitor.page.getByLabel(/^Comment on line/).fill('Say where the lamp stands.')
    await visitor.page.getByRole('button', { name: 'Add to the review' }).click()
    await visitor.page.locator('[data-comment="draft"]').waitFor()
    await visitor.page.reload()
    await live()
    await visitor.page.locator('[data-comment="draft"]').waitFor()
    await visitor.page.getByRole('button', { name: 'Send 1 comment' }).click()
    await visitor.page.getByRole('log').getByText('Say where the lamp stands.').waitFor()
    await visitor.page.locator('[data-comment]').first().waitFor()
    expect(await visitor.page.locator('[data-comment="draft"]').count()).toBe(0)
    await reaches(2, 'in_review')
  })

  it('stands at the pull request too, and what is said there is read here', async () => {
    const { pull } = await task(2)
    const at = `/pulls/sample/${pull?.number}`
    const said = () =>
      server.ask<{ items: { id: string; body: string; path?: string; stamp?: string }[] }>(
        'GET',
        `${at}/comments`,
      )
    await expect
      .poll(
        async () => (await said()).items.filter((it) => it.body === 'Say where the lamp stands.').length,
        {
          timeout: 30_000,
        },
      )
      .toBe(1)
    const [mine] = (await said()).items
    expect(mine?.stamp).toMatch(/^review\.2\./)
    const { items } = await server.ask<{ items: Moment[] }>('GET', '/tasks/2/timeline?limit=1000')
    expect(items.filter((it) => it.text?.includes('Say where the lamp stands.'))).toHaveLength(1)
    // Somebody says something there, on the same line and in general.
    const line = { body: 'It stands on the desk.', path: mine?.path, line: 1 }
    await server.ask('POST', `${at}/comments`, line)
    await visitor.page.locator('[data-remark]').getByText('It stands on the desk.').waitFor()
    await visitor.page.getByRole('log').getByText('It stands on the desk.').first().waitFor()
    await reaches(2, 'in_review')
    const mona = await server.ask<{ secret: string }>('POST', '/keys', { name: 'mona', role: 'member' })
    const judged = await fetch(`${server.origin}/api/v1${at}/reviews`, {
      method: 'POST',
      headers: { authorization: `Bearer ${mona.secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ verdict: 'approved', body: 'A fine lamp.' }),
    })
    expect(judged.status).toBe(201)
    const region = visitor.page.getByRole('region', { name: 'Said at the pull request' })
    await region.getByText('mona approved').waitFor()
    await region.getByRole('button').first().click()
    await region.getByText('A fine lamp.').waitFor()
    expect(await visitor.barriers()).toEqual([])
  })

  it('is asked for by the rules of the repository, and opens the gate', async () => {
    await goTo('/repos/sample')
    await visitor.page.getByLabel('Approvals before a merge').fill('2')
    await visitor.page
      .getByRole('region', { name: 'Pull requests' })
      .getByRole('button', { name: 'Save' })
      .click()
    await visitor.page.getByText('The rules are kept').first().waitFor()
    expect(await visitor.barriers()).toEqual([])
    await goTo('/tasks/2?tab=diff')
    const merge = visitor.page.getByRole('button', { name: 'Merge', exact: true })
    await visitor.page.getByText('one more approval is missing').first().waitFor()
    expect(await merge.isDisabled()).toBe(true)
    await visitor.page.getByRole('button', { name: 'Review', exact: true }).click()
    await visitor.page.getByRole('dialog').getByRole('radio', { name: 'Approve' }).check()
    expect(await visitor.barriers()).toEqual([])
    await visitor.page.getByRole('dialog').getByRole('button', { name: 'Approve', exact: true }).click()
    await expect.poll(() => merge.isEnabled(), { timeout: 60_000 }).toBe(true)
    await server.ask('PATCH', '/repos/sample', { pulls: { approvals: 0 } })
  })
})

describe('two cards that change the same lines', () => {
  it('name each other', async () => {
    await goTo('/')
    await server.ask('POST', '/agents', {
      name: 'writer',
      dialect: 'shell',
      command:
        'printf "%s\\n" "$CARREL_PROMPT" > NOTES.md && git add NOTES.md && git commit --quiet --message "docs: write notes"',
    })
    const [one, two] = await Promise.all([
      write({ agent: 'writer', title: 'Rewrite NOTES.md as a poem', start: true }),
      write({ agent: 'writer', title: 'Rewrite NOTES.md as a list', start: true }),
    ])
    await reaches(one.id, 'in_review')
    await reaches(two.id, 'in_review')
    await card(one.id).locator(`[data-conflict="${two.id}"]`).waitFor({ timeout: 60_000 })
    await card(two.id).locator(`[data-conflict="${one.id}"]`).waitFor()
  })
})

describe('a server that dies in the middle of a stream', () => {
  it('costs the reader nothing: every moment once, in order', async () => {
    const { id } = await write({ title: 'Survive a crash', start: true })
    await goTo(`/tasks/${id}`)
    await visitor.page.getByRole('log').getByText('I am the demo agent').first().waitFor()
    await visitor.forgiving(/ERR_|Failed to load resource/, async () => {
      await server.crash()
      await visitor.page.locator('[data-stream="reconnecting"]').first().waitFor()
      // Somebody who goes on reading is told how old it is what they read.
      await visitor.page.locator('[data-silent]').getByText('The server cannot be reached.').waitFor()
      expect(await visitor.barriers()).toEqual([])
      await server.restart()
      await live()
      await visitor.page.locator('[data-silent]').waitFor({ state: 'detached' })
    })
    await server.ask<Task>('GET', `/tasks/${id}?wait=in_review&timeout=120`)
    const { items } = await server.ask<{ items: Moment[] }>('GET', `/tasks/${id}/timeline?limit=1000`)
    const messages = items.filter((it) => it.kind === 'message').map((it) => String(it.seq))
    await expect
      .poll(
        async () => {
          const shown = await visitor.page
            .locator('li[data-moment]')
            .evaluateAll((rows) => rows.map((row) => row.getAttribute('data-moment') ?? ''))
          expect(new Set(shown).size).toBe(shown.length)
          return messages.filter((seq) => !shown.includes(seq))
        },
        { timeout: 30_000 },
      )
      .toEqual([])
  })
})

describe('an agent that is at work', () => {
  it('is interrupted by what is said now, and goes on with it', async () => {
    await server.ask('POST', '/agents', {
      name: 'patient',
      dialect: 'shell',
      command: [
        'case "$CARREL_PROMPT" in',
        '*hurry*) echo hurried > HURRY.md && git add HURRY.md && git commit --quiet --message "docs: hurry";;',
        '*) echo "I take my time"; exec sleep 1000;;',
        'esac',
      ].join('\n'),
    })
    const { id } = await write({ agent: 'patient', title: 'Take your time', start: true })
    await goTo(`/tasks/${id}`)
    await visitor.page.getByRole('log').getByText('I take my time').first().waitFor({ timeout: 60_000 })
    await visitor.page.getByLabel('Message to the agent').fill('Please hurry.')
    expect(await visitor.page.getByRole('button', { name: 'After this turn' }).isEnabled()).toBe(true)
    await visitor.page.getByRole('button', { name: 'Now', exact: true }).click()
    await visitor.page.getByRole('log').getByText('Please hurry.').waitFor({ timeout: 60_000 })
    await reaches(id, 'in_review')
    await visitor.page.locator('[data-file="HURRY.md"]').waitFor()
  })
})

describe('a task without a mouse', () => {
  it('goes from a wish to a merge', async () => {
    const { keyboard } = visitor.page
    const active = () =>
      visitor.page.evaluate(() => document.activeElement?.closest('[data-task]')?.getAttribute('data-task'))
    await goTo('/')
    const before = (await server.ask<{ items: Task[] }>('GET', '/tasks?limit=1')).items[0]?.id ?? 0
    const id = before + 1
    await keyboard.press('n')
    await visitor.page.getByRole('dialog').getByLabel('What should be done?').waitFor()
    await keyboard.type('Describe the chair')
    await visitor.page.getByRole('switch', { name: 'Start at once' }).press('Space')
    await keyboard.press('Control+Enter')
    await cardIn(id, 'backlog').waitFor()
    for (let step = 0; step < 20 && (await active()) !== String(id); step += 1)
      await keyboard.press('ArrowDown')
    expect(await active()).toBe(String(id))
    await keyboard.press('s')
    await cardIn(id, 'in_review').waitFor({ timeout: 90_000 })
    await card(id).getByRole('link').focus()
    await keyboard.press('Enter')
    await visitor.page.getByRole('heading', { name: 'Describe the chair' }).waitFor()
    const merge = visitor.page.getByRole('button', { name: 'Merge', exact: true })
    await merge.waitFor()
    await merge.focus()
    await keyboard.press('Enter')
    await visitor.page.getByRole('alertdialog').waitFor()
    await visitor.page.getByRole('alertdialog').getByRole('button', { name: 'Merge', exact: true }).focus()
    await keyboard.press('Enter')
    await visitor.page.locator('header [data-phase="merged"]').waitFor({ timeout: 90_000 })
  })
})

describe('people', () => {
  it('are invited by a link, and come in as who they are', async () => {
    await goTo('/members')
    await visitor.page.getByRole('button', { name: 'Invite' }).click()
    await visitor.page.getByRole('dialog').getByLabel('Name').fill('Ada')
    await visitor.page.getByRole('button', { name: 'Make a link' }).click()
    const link = await visitor.page.locator('[data-invitation]').innerText()
    expect(await visitor.barriers()).toEqual([])
    await visitor.page.getByRole('button', { name: 'I have it' }).click()
    const ada = await Visitor.arrive()
    try {
      await ada.page.goto(link)
      await ada.page.waitForURL('**/app/')
      await ada.page.locator('[data-column="done"]').waitFor()
      expect(await ada.page.evaluate(async () => (await (await fetch('/api/v1/me')).json()).name)).toBe('Ada')
      await ada.page.goto(`${server.origin}/app/members`)
      await ada.page.getByText('For admins').waitFor()
      await visitor.page.getByLabel('Role of Ada').selectOption('admin')
      await visitor.page.getByText('Ada is admin now').first().waitFor()
      await ada.page.reload()
      await ada.page.locator('[data-member="Ada"]').waitFor()
    } finally {
      await ada.leave()
    }
    await visitor.page.getByRole('button', { name: 'Show Ada out' }).click()
    await visitor.page.getByRole('dialog').getByRole('button', { name: 'Show out', exact: true }).click()
    await visitor.page.locator('[data-member="Ada"]').getByText('shown out').waitFor()
  })
})

describe('a repository', () => {
  it('tells whether the place of its pulls knows us', async () => {
    await goTo('/repos/sample')
    await visitor.page.getByRole('button', { name: 'Test the connection' }).click()
    await visitor.page.locator('[data-fitness="good"]').waitFor()
    expect(await visitor.barriers()).toEqual([])
  })
})

describe('a desk', () => {
  let sandbox: { id: string }

  it('shows what it uses, its files and a terminal on its own page', async () => {
    sandbox = await server.ask('POST', '/sandboxes?wait=ready', { repo: 'sample' })
    await goTo(`/sandboxes/${sandbox.id}`)
    await visitor.page.getByRole('img', { name: 'Memory in use over the last minutes' }).waitFor()
    expect(await visitor.barriers()).toEqual([])
    await visitor.page.getByRole('tab', { name: 'Files' }).click()
    await visitor.page.getByRole('list', { name: 'Content of /home' }).waitFor()
    expect(await visitor.barriers()).toEqual([])
    await visitor.page.getByRole('tab', { name: 'Terminal' }).click()
    await visitor.page.locator('[data-terminal="open"]').waitFor({ timeout: 60_000 })
    expect(new URL(visitor.page.url()).searchParams.get('tab')).toBe('terminal')
  })

  it('opens an editor under a name of its own, when it has one', async () => {
    await goTo(`/sandboxes/${sandbox.id}`)
    const button = visitor.page.getByRole('button', { name: 'VS Code' })
    await button.click()
    await visitor.page.getByRole('dialog').getByText('This desk has no editor').waitFor()
    expect(await visitor.barriers()).toEqual([])
    await visitor.page.getByRole('dialog').getByText('carrel ssh-config >> ~/.ssh/config').waitFor()
    await visitor.page.keyboard.press('Escape')
    // Not the editor itself, which is large; a program of its name that listens where it is told to.
    await server.ask('POST', `/sandboxes/${sandbox.id}/execute`, {
      command: [
        'mkdir -p ~/.local/bin ~/page && echo "<h1>An editor</h1>" > ~/page/index.html',
        'printf "#!/bin/sh\\nexec python3 -m http.server 13337 --bind 127.0.0.1 --directory \\"$HOME/page\\"\\n" > ~/.local/bin/code-server',
        'chmod +x ~/.local/bin/code-server',
      ].join(' && '),
    })
    // While it starts, nobody answers on its port yet.
    const editor = await visitor.forgiving(/502/, async () => {
      const opened = visitor.page.context().waitForEvent('page')
      await button.click()
      const page = await opened
      await page.getByRole('heading', { name: 'An editor' }).waitFor({ timeout: 60_000 })
      return page
    })
    const address = new URL(editor.url())
    expect(address.hostname).toBe(`13337-${sandbox.id}.localhost`)
    expect(address.search).toBe('')
    await editor.reload()
    await editor.getByRole('heading', { name: 'An editor' }).waitFor()
    await editor.close()
  })
})

describe('a terminal', () => {
  it('takes what is typed, a new size, and Ctrl+C', async () => {
    const session = await server.ask<{ id: string }>('POST', '/sessions', {
      agent: 'demo',
      repo: 'sample',
      title: 'At the desk',
    })
    await goTo(`/sessions/${session.id}`)
    await visitor.page.getByText('Terminal', { exact: true }).click()
    await visitor.page.locator('[data-terminal="open"]').waitFor({ timeout: 60_000 })
    const screen = visitor.page.locator('[data-terminal] .xterm-accessibility')
    const type = async (text: string) => {
      await visitor.page.locator('[data-terminal] textarea').focus()
      await visitor.page.keyboard.type(text)
      await visitor.page.keyboard.press('Enter')
    }
    await type('echo he""llo')
    await screen.getByText('hello', { exact: true }).first().waitFor()
    await type('echo sl""eeps; sleep 1000')
    await screen.getByText('sleeps', { exact: true }).first().waitFor()
    await visitor.page.keyboard.press('Control+c')
    await type('echo code $?')
    await screen.getByText('code 130').first().waitFor()
    const told = async (mark: string) => {
      await type(`echo ${mark}""=$(stty size | cut -d' ' -f2)=`)
      const seen = async () => new RegExp(`${mark}=(\\d+)=`).exec(await screen.innerText())?.[1]
      await expect.poll(seen, { timeout: 30_000 }).toBeTruthy()
      return Number(await seen())
    }
    const wide = await told('wide')
    await visitor.page.setViewportSize({ width: 900, height: 700 })
    const columns = () => visitor.page.locator('[data-terminal]').evaluate((it) => it.clientWidth)
    await expect.poll(columns).toBeLessThan(900)
    // The page tells the shell its new width when it has drawn it: it is asked until it knows.
    let narrow = wide
    for (let round = 0; narrow === wide && round < 50; round += 1) narrow = await told(`narrow${round}`)
    expect(narrow).toBeLessThan(wide)
    await visitor.page.setViewportSize({ width: 1280, height: 860 })
  })

  it('gives what is marked, and takes what is pasted', async () => {
    await visitor.page
      .context()
      .grantPermissions(['clipboard-read', 'clipboard-write'], { origin: server.origin })
    const screen = visitor.page.locator('[data-terminal] .xterm-accessibility')
    await visitor.page.locator('[data-terminal] textarea').focus()
    await visitor.page.keyboard.type('clear; echo ta""ken')
    await visitor.page.keyboard.press('Enter')
    const line = screen.getByText('taken', { exact: true }).first()
    await line.waitFor()
    const box = await line.boundingBox()
    if (!box) throw new Error('the line is not to be seen')
    await visitor.page.mouse.dblclick(box.x + 12, box.y + box.height / 2)
    await visitor.page.keyboard.press('Control+Shift+C')
    await expect.poll(() => visitor.page.evaluate(() => navigator.clipboard.readText())).toBe('taken')
    await visitor.page.evaluate(() => navigator.clipboard.writeText('echo pas""ted'))
    await visitor.page.locator('[data-terminal] textarea').focus()
    await visitor.page.keyboard.press('Control+Shift+V')
    await visitor.page.keyboard.press('Enter')
    await screen.getByText('pasted', { exact: true }).first().waitFor()
  })
})

describe('every page', () => {
  it.each([
    '/',
    '/sessions',
    '/repos',
    '/repos/sample',
    '/agents',
    '/templates',
    '/dashboard',
    '/sandboxes',
    '/settings',
    '/members',
    '/keys',
    '/secrets',
    '/audit',
    '/tasks/2?tab=diff',
    '/tasks/2?tab=details',
    '/tasks/2?tab=network',
    '/tasks/2?tab=logs',
  ])('%s can be used by everyone, in light and dark, and fits a phone', async (path) => {
    for (const theme of ['light', 'dark']) {
      await visitor.page.evaluate((it) => localStorage.setItem('carrel.theme', it), theme)
      await goTo(path)
      await visitor.settle()
      expect(await visitor.barriers()).toEqual([])
    }
    await visitor.page.evaluate(() => localStorage.removeItem('carrel.theme'))
    await visitor.page.setViewportSize({ width: 375, height: 760 })
    expect(await visitor.page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(
      true,
    )
    await visitor.page.setViewportSize({ width: 1280, height: 860 })
  })
})
