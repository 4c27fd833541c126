/** The rest of the house, everything real: repositories, agents, secrets, conversations, numbers, large changes, bad days. */
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Agent, Task } from '../src/task/types'
import { GitHub } from './github'
import { Server } from './server'
import { Visitor } from './visitor'

let server: Server
let visitor: Visitor
let github: GitHub
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'carrel-upstream-'))
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', folder, '-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', ...args])
  git('init', '--quiet', '--initial-branch', 'trunk')
  await writeFile(join(folder, 'README.md'), '# A house of its own\n')
  git('add', '.')
  git('commit', '--quiet', '--message', 'docs: begin')
  github = await GitHub.arrive()
  server = await Server.open({ CARREL_DEMO_PAUSE: '0.1', CARREL_LOCAL_DISK: 'folder' })
  visitor = await Visitor.arrive()
  await page().goto(server.link)
  await live()
})

afterAll(async () => {
  await visitor?.leave()
  try {
    await server?.clear()
  } finally {
    await server?.close()
    await github?.leave()
    await rm(folder, { recursive: true, force: true })
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
const dialog = () => page().getByRole('dialog')
const gone = () => dialog().waitFor({ state: 'detached' })

describe('a repository', () => {
  it('is added without a terminal, and what is wrong with an address is said beside it', async () => {
    await goTo('/repos')
    await page().getByRole('button', { name: 'Add repository' }).first().click()
    await dialog().getByLabel('Address or path').fill('ftp://example.org/x')
    await visitor.forgiving(/4\d\d/, async () => {
      await dialog().getByRole('button', { name: 'Add repository' }).click()
      await dialog().getByRole('alert').first().waitFor()
    })
    await dialog().getByLabel('Address or path').fill(folder)
    await dialog().getByLabel('Name').fill('house')
    await dialog().getByRole('button', { name: 'Add repository' }).click()
    await gone()
    // It leads there by itself.
    await page().waitForURL('**/app/repos/house')
    await page().getByText('trunk').first().waitFor({ timeout: 30_000 })
    expect(await visitor.barriers()).toEqual([])
  })

  it('says at GitHub what its credential lacks, and when nothing is missing', async () => {
    await server.ask('POST', '/repos', { source: github.source, name: 'api', forge: 'github' })
    await server.ask('POST', '/secrets', { name: 'github-token', value: 'ghp_of_a_test', repo: 'api' })
    github.open.add('issues')
    await goTo('/repos/api')
    await page().getByRole('button', { name: 'Test the connection' }).click()
    const told = page().locator('[data-fitness="lacking"]')
    await told.getByText('GitHub answers, and knows us as carrel-bot.').waitFor()
    const missing = told.getByRole('list', { name: 'What is missing' })
    for (const wanted of ['contents=write', 'pull_requests=write', 'checks=read', 'statuses=write'])
      await missing.getByText(wanted).waitFor()
    expect(await missing.getByText('issues=write').count()).toBe(0)
    expect(await visitor.barriers()).toEqual([])
    github.openAll()
    await page().getByRole('button', { name: 'Test the connection' }).click()
    await page().locator('[data-fitness="good"]').getByText('Nothing is missing').waitFor()
  })

  it('has rules for commands, which hold at once', async () => {
    await goTo('/repos/house')
    const rules = page().getByRole('region', { name: 'Commands' })
    await rules.getByLabel('Never these commands').fill('git push **')
    await rules.getByRole('button', { name: 'Save' }).click()
    await page().getByText('The rules are kept').first().waitFor()
    const { id } = await server.ask<{ id: string }>('POST', '/sandboxes?wait=ready', { repo: 'house' })
    await expect(
      server.ask('POST', `/sandboxes/${id}/execute`, { command: 'git push origin trunk' }),
    ).rejects.toThrow(/403/)
    await server.ask('POST', `/sandboxes/${id}/execute`, { command: 'git status' })
  })
})

describe('an agent', () => {
  it('is added, changed and removed', async () => {
    await goTo('/agents')
    await page().getByRole('button', { name: 'Add agent' }).first().click()
    await dialog().getByLabel('Dialect').selectOption('shell')
    await dialog().getByLabel('Name').fill('scribe')
    await dialog().getByLabel('Command', { exact: true }).fill('echo one')
    await dialog().getByLabel('Environment').fill('LEVEL=high')
    await dialog().getByRole('button', { name: 'Add agent' }).click()
    await gone()
    const card = page().locator('[data-agent="scribe"]')
    await card.getByText('echo one').waitFor()
    await card.getByRole('button', { name: 'Change scribe' }).click()
    await dialog().getByLabel('Command', { exact: true }).fill('echo two')
    await dialog().getByLabel('At once').fill('2')
    await dialog().getByLabel('Never these commands').fill('curl **')
    // Its values are never shown: they are asked for again before they could be lost.
    await dialog().getByRole('button', { name: 'Save' }).click()
    await dialog().getByText('LEVEL has no value').waitFor()
    expect(await visitor.barriers()).toEqual([])
    await dialog().getByLabel('Environment').fill('LEVEL=low')
    await dialog().getByRole('button', { name: 'Save' }).click()
    await gone()
    await card.getByText('echo two').waitFor()
    const changed = await server.ask<Agent>('GET', '/agents/scribe')
    expect(changed).toMatchObject({ command: 'echo two', at_once: 2, env_names: ['LEVEL'] })
    expect(changed.commands?.deny).toEqual(['curl **'])
    await card.getByRole('button', { name: 'Remove scribe' }).click()
    await dialog().getByRole('button', { name: 'Remove', exact: true }).click()
    await card.waitFor({ state: 'detached' })
  })
})

describe('a secret', () => {
  it('is set and removed, and nothing shows it again', async () => {
    await goTo('/secrets')
    await page().getByRole('button', { name: 'Set a secret' }).first().click()
    await dialog().getByLabel('Name').fill('a-token-of-ours')
    await dialog().getByLabel('Value').fill('never-to-be-seen')
    await dialog().getByRole('button', { name: 'Set', exact: true }).click()
    await gone()
    await page().getByText('a-token-of-ours').waitFor()
    expect(await page().content()).not.toContain('never-to-be-seen')
    await page().getByRole('button', { name: 'Remove a-token-of-ours' }).click()
    await dialog().getByRole('button', { name: 'Remove', exact: true }).click()
    await page().getByText('a-token-of-ours').waitFor({ state: 'detached' })
  })
})

describe('a conversation', () => {
  it('is opened, answered and closed on its own page', async () => {
    await goTo('/sessions')
    await page().getByRole('button', { name: 'New session' }).first().click()
    await dialog().getByLabel('About').fill('What is in the drawer?')
    await dialog().getByLabel('Agent').selectOption('demo')
    await dialog().getByLabel('Repository').selectOption('house')
    await dialog().getByRole('button', { name: 'Open session' }).click()
    await page().getByRole('heading', { name: 'What is in the drawer?' }).waitFor()
    await page().getByLabel('Message to the agent').fill('Look into the drawer.')
    await page().keyboard.press('Enter')
    await page().getByRole('log').getByText('Look into the drawer.').first().waitFor()
    await page().getByRole('log').getByText('I am the demo agent').first().waitFor({ timeout: 90_000 })
    expect(await visitor.barriers()).toEqual([])
    await goTo('/sessions')
    await page().getByRole('link', { name: 'What is in the drawer?' }).click()
    await page().getByRole('button', { name: 'Close', exact: true }).click()
    await dialog().getByText('What was said stays to be read.').waitFor()
    expect(await visitor.barriers()).toEqual([])
    await page().keyboard.press('Escape')
    await gone()
    expect(await page().getByLabel('Message to the agent').isEnabled()).toBe(true)
    await page().getByRole('button', { name: 'Close', exact: true }).click()
    await dialog().getByRole('button', { name: 'Close', exact: true }).click()
    await page().getByPlaceholder('This session is closed.').waitFor()
    await page().getByRole('log').getByText('Look into the drawer.').first().waitFor()
    await goTo('/sessions')
    await page().getByText('Nobody is talking').waitFor()
    await page().getByText('Closed', { exact: true }).click()
    await page().getByRole('link', { name: 'What is in the drawer?' }).waitFor()
    // By what was said in it, which is not in its title.
    await page().getByLabel('Find in titles and in what was said').fill('I am the demo agent')
    await page().getByRole('link', { name: 'What is in the drawer?' }).waitFor()
    expect(await visitor.barriers()).toEqual([])
    await page().getByLabel('Find in titles and in what was said').fill('nobody said this')
    await page().getByText('Nothing matches').waitFor()
  })
})

describe('a template', () => {
  it('is made, tells how it was made, is made again, and removed', async () => {
    await goTo('/templates')
    await page().getByRole('button', { name: 'New template' }).click()
    await dialog().getByLabel('Name').fill('tools')
    await dialog().getByLabel('Made from').selectOption('recipe')
    await dialog()
      .getByLabel('Recipe')
      .fill('FROM host\nUSER root\nRUN echo the saw is sharp > /saw && cat /saw')
    await dialog().getByRole('button', { name: 'Make template' }).click()
    await gone()
    const row = page().locator('[data-template="tools"]')
    await row.getByText('ready', { exact: true }).waitFor({ timeout: 120_000 })
    await row.getByRole('button', { name: 'How tools was made' }).click()
    await dialog().getByRole('log').getByText('the saw is sharp').first().waitFor()
    expect(await visitor.barriers()).toEqual([])
    await page().keyboard.press('Escape')
    await gone()
    const readyAt = async () =>
      (await server.ask<{ ready_at: string | null }>('GET', '/templates/tools')).ready_at
    const before = await readyAt()
    await row.getByRole('button', { name: 'Make tools again' }).click()
    await dialog().getByRole('button', { name: 'Make again', exact: true }).click()
    await expect.poll(async () => ![before, null].includes(await readyAt()), { timeout: 120_000 }).toBe(true)
    await row.getByText('ready', { exact: true }).waitFor({ timeout: 60_000 })
    await row.getByRole('button', { name: 'Remove tools' }).click()
    await dialog().getByRole('button', { name: 'Remove', exact: true }).click()
    await row.waitFor({ state: 'detached' })
  })
})

describe('the dashboard', () => {
  it('has every number it promises, and what should read zero reads zero', async () => {
    await goTo('/dashboard')
    const figure = (name: string) =>
      page()
        .locator('section')
        .filter({ has: page().getByRole('heading', { name, exact: true }) })
        .first()
    for (const name of ['Lost work', 'Orphans', 'Zombies'])
      await expect.poll(() => figure(name).locator('p').first().innerText(), { timeout: 30_000 }).toBe('0')
    for (const name of [
      'Desks ready',
      'Tasks working',
      'Need somebody',
      'Cost per merged pull',
      'A desk is made in',
      'Task, start to merge',
      'From the warm pool',
      'GitHub budget',
      'Disk free',
      'Merges per day',
      'Providers',
      'What the desks use',
    ])
      await figure(name).waitFor()
    await expect
      .poll(() => figure('A desk is made in').locator('p').first().innerText(), { timeout: 30_000 })
      .toMatch(/\d+ (ms|s)/)
    await expect
      .poll(() => figure('Disk free').locator('p').first().innerText(), { timeout: 30_000 })
      .toMatch(/\d/)
    await figure('Providers').getByText('local').first().waitFor()
    await figure('Providers').getByText('answers').first().waitFor()
    expect(await visitor.barriers()).toEqual([])
  })
})

describe('a large change', () => {
  it('shows its files first, folds what programs wrote, and stays usable side by side', async () => {
    await server.ask('POST', '/agents', {
      name: 'prolific',
      dialect: 'shell',
      command: [
        'mkdir -p src && i=0; while [ $i -lt 400 ]; do seq 1 40 > src/file-$i.txt; i=$((i+1)); done',
        'seq 1 3000 > package-lock.json',
        'mkdir -p src/generated && seq 1 90 > src/generated/api.txt',
        'git add . && git commit --quiet --message "feat: much"',
      ].join('\n'),
    })
    const { id } = await server.ask<Task>('POST', '/tasks', {
      repo: 'house',
      agent: 'prolific',
      title: 'Write very much',
      start: true,
    })
    await server.ask('GET', `/tasks/${id}?wait=in_review&timeout=120`)
    // The lines are held up: the files stand there without them.
    const asked: URLSearchParams[] = []
    let letGo: () => void = () => undefined
    const isLetGo = new Promise<void>((resolve) => {
      letGo = resolve
    })
    const diffs = new RegExp(`/api/v1/tasks/${id}/diff\\?`)
    await page().route(diffs, async (route) => {
      asked.push(new URL(route.request().url()).searchParams)
      await isLetGo
      await route.continue()
    })
    const wholes: string[] = []
    page().on('request', (it) => it.url().endsWith(`/tasks/${id}/diff`) && wholes.push(it.url()))
    await goTo(`/tasks/${id}?tab=diff`)
    const diff = page().getByRole('region', { name: 'Diff' })
    await diff.getByText('402 files').filter({ visible: true }).first().waitFor({ timeout: 30_000 })
    // Its checkpoint says so too, on the timeline.
    await page().getByRole('region', { name: 'Conversation' }).getByText('402 files').first().waitFor()
    await page().getByRole('button', { name: 'package-lock.json' }).first().waitFor()
    await expect.poll(() => page().locator('[data-file]').count(), { timeout: 30_000 }).toBe(402)
    await page().locator('[data-file="src/file-0.txt"]').getByText('+40').waitFor()
    expect(await page().locator('[data-file] diffs-container').count()).toBe(0)
    letGo()
    // Hunks come when they are scrolled to: what is drawn is a small part of four hundred files.
    await page()
      .locator('[data-file] diffs-container')
      .first()
      .waitFor({ state: 'attached', timeout: 30_000 })
    expect(await page().locator('[data-file] diffs-container').count()).toBeLessThan(60)
    const lock = page().locator('[data-file="package-lock.json"]')
    await page().getByRole('button', { name: 'package-lock.json' }).first().click()
    await lock.getByText('generated').waitFor()
    expect(await lock.locator('diffs-container').count()).toBe(0)
    const written = page().locator('[data-file="src/generated/api.txt"]')
    await written.getByText('generated', { exact: true }).waitFor()
    expect(await written.getByRole('button', { expanded: false }).count()).toBe(1)
    // Only what came into sight was asked for, some files at a time; what is folded, when it is opened.
    const paths = () => asked.flatMap((it) => it.getAll('path'))
    expect(wholes).toEqual([])
    expect(paths().length).toBeLessThan(80)
    expect(Math.max(...asked.map((it) => it.getAll('path').length))).toBeGreaterThan(1)
    expect(paths()).not.toContain('src/generated/api.txt')
    await written.getByRole('button', { expanded: false }).click()
    await written.locator('diffs-container').waitFor({ state: 'attached', timeout: 30_000 })
    expect(paths()).toContain('src/generated/api.txt')
    await page().unroute(diffs)
    await page().getByRole('button', { name: 'Split' }).click()
    expect(await page().getByRole('button', { name: 'Split' }).getAttribute('aria-pressed')).toBe('true')
    await page().getByRole('button', { name: 'Unified' }).click()
    await server.ask('POST', `/tasks/${id}/close`)
  })
})

describe('a checkpoint', () => {
  it('is where another attempt begins', async () => {
    const { id } = await server.ask<Task>('POST', '/tasks', {
      repo: 'house',
      agent: 'demo',
      title: 'Describe the stairs',
      start: true,
    })
    await server.ask('GET', `/tasks/${id}?wait=in_review&timeout=120`)
    await goTo(`/tasks/${id}`)
    await page().getByRole('button', { name: 'Diff since' }).first().click()
    expect(new URL(page().url()).searchParams.get('since')).toBeTruthy()
    await page().getByRole('button', { name: 'Fork from here' }).first().click()
    await page().getByText(`goes on from task-${id}`).first().waitFor({ timeout: 30_000 })
    const { items } = await server.ask<{ items: Task[] }>('GET', '/tasks?limit=1')
    expect(items[0]?.id).toBeGreaterThan(id)
  })
})

describe('a bad day', () => {
  it('says what could not be read, and reads it when asked again', async () => {
    const lists = /\/api\/v1\/tasks\?/
    await page().route(lists, (route) =>
      route.fulfill({
        status: 503,
        contentType: 'application/problem+json',
        body: JSON.stringify({ title: 'Unavailable', status: 503, detail: 'The shelf fell down.' }),
      }),
    )
    await visitor.forgiving(/503/, async () => {
      await page().goto(`${server.origin}/app/`)
      await page().getByText('The tasks could not be listed').waitFor({ timeout: 30_000 })
      await page().getByText('The shelf fell down.').waitFor()
      expect(await visitor.barriers()).toEqual([])
    })
    await page().unroute(lists)
    await page().getByRole('button', { name: 'Try again' }).click()
    await page().locator('[data-column="done"]').waitFor()
  })

  it.each([
    ['/repos/house', /\/api\/v1\/repos(\?|$)/, 'The repository could not be read'],
    ['/pulls/house/1', /\/api\/v1\/pulls\/house\/1$/, 'The pull request could not be read'],
    ['/dashboard', /\/api\/v1\/tasks\?/, 'Not everything could be counted'],
  ])('does not take a bad answer for nothing: %s', async (path, asked, words) => {
    await page().route(asked, (route) =>
      route.fulfill({
        status: 503,
        contentType: 'application/problem+json',
        body: JSON.stringify({ title: 'Unavailable', status: 503, detail: 'The shelf fell down.' }),
      }),
    )
    await visitor.forgiving(/503/, async () => {
      await page().goto(`${server.origin}/app${path}`)
      await page().getByText(words).waitFor({ timeout: 30_000 })
      expect(await visitor.barriers()).toEqual([])
    })
    await page().unroute(asked)
    await page().getByRole('button', { name: 'Try again' }).click()
    await page().getByText(words).waitFor({ state: 'detached' })
  })

  it.each([
    ['a new task', '/', /\/api\/v1\/(repos|agents)(\?|$)/],
    ['a session', '/sessions/ses_0000000000000000', /\/api\/v1\/sessions\/ses_/],
    ['the dashboard', '/dashboard', /\/api\/v1\/tasks\?/],
  ])('shows the shape of %s while it is on its way', async (name, path, asked) => {
    let release = () => {}
    const held = new Promise<void>((done) => {
      release = done
    })
    await page().route(asked, async (route) => {
      await held
      await route.continue().catch(() => undefined)
    })
    await visitor.forgiving(/404|Failed to load resource/, async () => {
      await page().goto(`${server.origin}/app${path}`)
      if (name === 'a new task') {
        await page().locator('[data-column="done"]').waitFor()
        await page().keyboard.press('n')
        await dialog().getByRole('status', { name: 'Loading' }).waitFor()
        release()
        await dialog().getByLabel('What should be done?').waitFor()
        await page().keyboard.press('Escape')
        await gone()
      } else if (name === 'the dashboard') {
        const figure = page().locator('section').filter({ hasText: 'Tasks working' }).last()
        await figure.locator('[aria-hidden].animate-breathe').waitFor()
        release()
        await figure.getByText(/^\d+$/).waitFor()
      } else {
        await page().getByRole('status', { name: 'Loading' }).first().waitFor()
        release()
        await page().getByRole('heading', { name: 'No such session' }).waitFor()
      }
    })
    await page().unroute(asked)
  })

  it('shows the shape of the board while the cards are on their way', async () => {
    const lists = /\/api\/v1\/tasks\?/
    let release = () => {}
    const held = new Promise<void>((done) => {
      release = done
    })
    await page().route(lists, async (route) => {
      await held
      await route.continue()
    })
    await page().goto(`${server.origin}/app/`)
    await page().getByRole('status', { name: 'Loading' }).first().waitFor()
    release()
    await page().locator('[data-column="done"]').waitFor()
    await page().unroute(lists)
  })
})

describe('times', () => {
  it('are told in the zone of the machine, and in UTC when somebody wants it so', async () => {
    const devtools = await page().context().newCDPSession(page())
    await devtools.send('Emulation.setTimezoneOverride', { timezoneId: 'Asia/Tokyo' })
    const told = async () => {
      await goTo('/audit')
      return page().locator('ol time').first().getAttribute('title')
    }
    expect(await told()).toContain('GMT+9')
    await goTo('/settings')
    await page().getByRole('radio', { name: 'Here: Asia/Tokyo' }).waitFor()
    await page().getByRole('radio', { name: 'UTC', exact: true }).check()
    expect(await told()).toContain('UTC')
    await goTo('/settings')
    await page()
      .getByRole('radio', { name: /^Here: / })
      .check()
    await devtools.send('Emulation.setTimezoneOverride', { timezoneId: '' })
  })

  it('move nothing for those who do not want movement', async () => {
    await page().emulateMedia({ reducedMotion: 'reduce' })
    await goTo('/')
    await page().keyboard.press('n')
    await dialog().waitFor()
    const moving = await page().evaluate(
      () =>
        document.getAnimations().filter((it) => Number(it.effect?.getComputedTiming().duration ?? 0) > 50)
          .length,
    )
    expect(moving).toBe(0)
    await page().keyboard.press('Escape')
    await gone()
    await page().emulateMedia({ reducedMotion: null })
  })
})
