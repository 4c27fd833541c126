/** E2B's command line, unmodified. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'

const program = new URL('./node_modules/.bin/e2b', import.meta.url).pathname
let home
before(async () => {
  home = await mkdtemp(join(tmpdir(), 'e2b-home-'))
})
after(() => rm(home, { recursive: true, force: true }))

/** Runs it; in a terminal of its own when it wants one. */
function e2b(args, { input = '', cwd, terminal = false, heard, started } = {}) {
  return new Promise((resolve, reject) => {
    const [command, rest] = terminal ? ['script', ['-qec', [program, ...args].join(' '), '/dev/null']] : [program, args]
    const child = spawn(command, rest, { cwd, env: { ...process.env, HOME: home } })
    started?.(child)
    let said = ''
    child.stdout.on('data', (bytes) => {
      said += bytes
      heard?.(said)
      // What is typed before the terminal is there would be lost.
      if (terminal && input && /\$ $/.test(said)) {
        child.stdin.write(input)
        input = ''
      }
    })
    child.stderr.on('data', (bytes) => (said += bytes))
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, said }))
    if (!terminal) child.stdin.end(input)
  })
}

test('a sandbox is created, listed, used, watched and killed', async () => {
  const id = await create()
  const listed = await e2b(['sandbox', 'list', '--format', 'json'])
  assert.ok(JSON.parse(listed.said).some((it) => it.sandboxId === id), listed.said)
  assert.match((await e2b(['sandbox', 'exec', id, 'echo hello from inside'])).said, /hello from inside/)
  assert.match((await e2b(['sandbox', 'metrics', id])).said, /CPU:.*Memory:.*Disk:/s)
  assert.match((await e2b(['sandbox', 'logs', id])).said, /ready for the first time/)
  assert.match((await e2b(['sandbox', 'info', id])).said, new RegExp(id))
  assert.match((await e2b(['sandbox', 'pause', id])).said, /paused/)
  assert.match((await e2b(['sandbox', 'resume', id])).said, /resumed/)
  const typed = { terminal: true, input: 'echo from $((40 + 2))\nexit\n' }
  assert.match((await e2b(['sandbox', 'connect', id], typed)).said, /from 42/)
  assert.match((await e2b(['sandbox', 'kill', id])).said, /killed/)
  const gone = await e2b(['sandbox', 'list', '--format', 'json'])
  assert.ok(!gone.said.includes(id), gone.said)
})

/** Creates one, and gives its id. */
async function create() {
  const created = await e2b(['sandbox', 'create', 'base', '--detach'])
  const id = /\bi[a-z0-9]{19}\b/.exec(created.said)?.[0]
  assert.ok(id, created.said)
  return id
}

// It asks once whether the sandbox runs, at its beginning, so `metrics --follow` of this version ends with nobody's sandbox.
test('metrics are followed beyond the end of the sandbox without a complaint, until somebody interrupts', async () => {
  const id = await create()
  let heard, following
  const begun = new Promise((resolve) => (heard = (said) => /CPU:/.test(said) && resolve()))
  const followed = e2b(['sandbox', 'metrics', id, '--follow'], { heard, started: (child) => (following = child) })
  await Promise.race([begun, followed])
  assert.match((await e2b(['sandbox', 'kill', id])).said, /killed/)
  // What is asked for after the end is an empty list: whoever looks twice sees that nothing was said in between.
  for (let times = 0; times < 2; times += 1) {
    const answer = await fetch(`${process.env.E2B_API_URL}/sandboxes/${id}/metrics`, { headers: { 'x-api-key': process.env.E2B_API_KEY } })
    assert.deepEqual([answer.status, await answer.json()], [200, []])
  }
  following.kill('SIGINT')
  const ended = await followed
  assert.doesNotMatch(ended.said, /error|not found|404|exception/i)
})

test('logs are followed until the sandbox is closed', async () => {
  const id = await create()
  const shows = /ready for the first time/
  let heard
  const begun = new Promise((resolve) => (heard = (said) => shows.test(said) && resolve()))
  const followed = e2b(['sandbox', 'logs', id, '--follow'], { heard })
  await Promise.race([begun, followed])
  assert.match((await e2b(['sandbox', 'kill', id])).said, /killed/)
  const { code, said } = await followed
  assert.equal(code, 0, said)
  assert.match(said, shows)
})

test('a snapshot is made, listed and deleted', async () => {
  const id = await create()
  const name = `cli-snapshot-${Date.now()}`
  const made = await e2b(['sandbox', 'snapshot', 'create', id, '--name', name])
  assert.equal(made.code, 0, made.said)
  const listed = JSON.parse((await e2b(['sandbox', 'snapshot', 'list', id, '--format', 'json'])).said)
  assert.equal(listed.length, 1)
  assert.ok(listed[0].snapshotId.includes(name), JSON.stringify(listed))
  assert.match((await e2b(['sandbox', 'snapshot', 'delete', listed[0].snapshotId])).said, /deleted/)
  assert.equal((await e2b(['sandbox', 'kill', id])).code, 0)
})

test('what this command line calls deprecated says so itself, and what we have not is refused with a sentence', async () => {
  assert.match((await e2b(['template', 'build'])).said, /DEPRECATION/)
  const published = await e2b(['template', 'publish', 'base', '--yes'])
  assert.notEqual(published.code, 0)
  assert.match(published.said, /cannot be published/)
})

test('a template is built, listed and deleted', async (told) => {
  const folder = await mkdtemp(join(tmpdir(), 'e2b-template-'))
  told.after(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'e2b.Dockerfile'), 'FROM e2bdev/base\nCOPY a.txt /home/user/a.txt\nRUN echo built > /home/user/built\n')
  await writeFile(join(folder, 'a.txt'), 'from the folder')
  const name = `cli-${Date.now()}`
  const made = await e2b(['template', 'create', name, '--dockerfile', 'e2b.Dockerfile'], { cwd: folder })
  assert.equal(made.code, 0, made.said)
  assert.match((await e2b(['template', 'list'])).said, new RegExp(name))
  const deleted = await e2b(['template', 'delete', name, '--yes'])
  assert.equal(deleted.code, 0, deleted.said)
  assert.doesNotMatch((await e2b(['template', 'list'])).said, new RegExp(name))
})
