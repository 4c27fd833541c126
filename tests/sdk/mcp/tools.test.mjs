// The Model Context Protocol by its official TypeScript library, every tool of it, and by the inspector's command line.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

const { CARREL_URL, CARREL_KEY, CARREL_BIN } = process.env
const run = promisify(execFile)

const ways = {
  http: () =>
    new StreamableHTTPClientTransport(new URL(`${CARREL_URL}/mcp`), {
      requestInit: { headers: { Authorization: `Bearer ${CARREL_KEY}` } },
    }),
  stdio: () =>
    new StdioClientTransport({
      command: CARREL_BIN,
      args: ['mcp'],
      env: { CARREL_URL, CARREL_KEY, PATH: process.env.PATH },
    }),
}

/** The inspector's command line, in the place of a client: one program for each request. */
class Inspector {
  async open() {
    // It keeps a list of servers in its user's home.
    this.home = await mkdtemp(join(tmpdir(), 'carrel-inspector-'))
    return this
  }

  async ask(...args) {
    const reach = ['--cli', `${CARREL_URL}/mcp`, '--transport', 'http', '--header', `Authorization: Bearer ${CARREL_KEY}`]
    const env = { ...process.env, HOME: this.home }
    const options = { maxBuffer: 1 << 26, env }
    const ran = await run('node_modules/.bin/mcp-inspector', [...reach, ...args], options).catch((error) => error)
    // A refusal of the tool itself is an answer like any other.
    try {
      return JSON.parse(ran.stdout)
    } catch {
      throw new Error(`${args.join(' ')}: ${ran.stdout} ${ran.stderr}`)
    }
  }

  listTools() {
    return this.ask('--method', 'tools/list')
  }

  listPrompts() {
    return this.ask('--method', 'prompts/list')
  }

  readResource({ uri }) {
    return this.ask('--method', 'resources/read', '--uri', uri)
  }

  callTool({ name, arguments: args = {} }) {
    const given = Object.entries(args).flatMap(([key, value]) => {
      const text = typeof value === 'string' ? value : JSON.stringify(value)
      return ['--tool-arg', `${key}=${text}`]
    })
    return this.ask('--method', 'tools/call', '--tool-name', name, ...given)
  }

  async close() {
    await rm(this.home, { recursive: true })
  }
}

async function connected(way) {
  if (way === 'the inspector') return new Inspector().open()
  const client = new Client({ name: 'carrel-tests', version: '1.0.0' })
  await client.connect(ways[way]())
  return client
}

/** Calls tools and remembers which. */
class Caller {
  called = new Set()

  constructor(client) {
    this.client = client
  }

  async good(name, args = {}) {
    this.called.add(name)
    const result = await this.client.callTool({ name, arguments: args }, undefined, { timeout: 300_000 })
    assert.ok(!result.isError, `${name}: ${JSON.stringify(result.content)}`)
    return result.structuredContent
  }

  async refused(name, args = {}) {
    this.called.add(name)
    const result = await this.client.callTool({ name, arguments: args }, undefined, { timeout: 300_000 })
    assert.ok(result.isError, `${name}: ${JSON.stringify(result.structuredContent)}`)
    return JSON.stringify(result.structuredContent ?? result.content)
  }

  async until(task, phase) {
    for (;;) {
      const shown = await this.good('task_show', { task_id: task })
      if (shown.phase === phase) return shown
      assert.ok(!['failed', 'merged'].includes(shown.phase), JSON.stringify(shown))
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}

async function ask(method, path, body) {
  const answer = await fetch(`${CARREL_URL}${path}`, {
    method,
    body: body && JSON.stringify(body),
    headers: { Authorization: `Bearer ${CARREL_KEY}`, 'Content-Type': 'application/json' },
  })
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${await answer.clone().text()}`)
  return answer
}

for (const way of [...Object.keys(ways), 'the inspector']) {
  test(`every tool is driven over ${way}`, { timeout: 900_000 }, async () => {
    const client = await connected(way)
    const tools = (await client.listTools()).tools
    const call = new Caller(client)
    const repo = `mcp-js-${randomBytes(4).toString('hex')}`
    await ask('POST', '/api/v1/repos', { name: repo, new: true })
    const tasks = []
    let sandbox
    try {
      sandbox = (await call.good('sandbox_create', { timeout_s: 600, repo })).id
      const here = { sandbox_id: sandbox }
      assert.equal((await call.good('sandbox_show', here)).phase, 'ready')
      assert.ok((await call.good('sandbox_list', { limit: 1000 })).items.some((item) => item.id === sandbox))
      assert.equal((await call.good('sandbox_exec', { command: 'echo hi', ...here })).stdout, 'hi\n')
      assert.ok(await call.good('sandbox_stats', here))
      await call.good('files_write', { path: 'a.txt', text: 'one\n', ...here })
      assert.equal((await call.good('files_read', { path: 'a.txt', ...here })).text, 'one\n')
      assert.ok((await call.good('files_list', { path: '.', ...here })).items.length > 0)
      await call.good('files_remove', { path: 'a.txt', ...here })
      await call.refused('sandbox_port', { port: 9, path: '/', ...here })

      const tree = { ...here, cwd: 'tree' }
      await call.good('git_clone', { repo, folder: 'tree', ...here })
      await call.good('sandbox_exec', {
        command: 'git config user.name Ada; git config user.email ada@example.org',
        ...tree,
      })
      await call.good('git_branch', { name: 'work', ...tree })
      await call.good('files_write', { path: 'tree/a.txt', text: 'one\n', ...here })
      assert.match((await call.good('git_status', tree)).stdout, /a\.txt/)
      await call.good('git_commit', { message: 'feat: begin', ...tree })
      await call.good('git_diff', tree)
      assert.match((await call.good('git_log', { count: 1, ...tree })).stdout, /feat: begin/)
      assert.match(await call.refused('git_push', tree), /no task/)
      await call.refused('git_pull', tree)
      await call.client.callTool({ name: 'git_conflicts', arguments: tree })
      call.called.add('git_conflicts')

      const first = (await call.good('task_create', { repo, title: 'Say hello in HELLO.md', agent: 'demo' })).id
      tasks.push(first)
      const second = (await call.good('task_create', { repo, title: 'Wait', agent: 'demo' })).id
      tasks.push(second)
      const one = { task_id: first }
      await call.good('task_depend', { task_id: second, depends_on: [{ task_id: first, until: 'merged' }] })
      assert.equal((await call.good('task_list', { repo })).items.length, 2)
      const claim = await call.good('area_claim', { paths: ['docs'], ...one })
      assert.match(await call.refused('area_claim', { task_id: second, paths: ['docs/a'] }), /has claimed/)
      assert.equal((await call.good('area_list', { repo })).items.length, 1)
      await call.good('area_release', { token: claim.token, ...one })
      assert.equal((await call.good('task_done', one)).done, false)
      assert.match(await call.refused('task_ask', { question: 'Why?', ...one }), /only who works asks/)
      await call.good('task_start', one)
      const shown = await call.until(first, 'in_review')
      assert.match((await call.good('task_diff', one)).text, /HELLO\.md/)
      assert.ok((await call.good('task_timeline', one)).items.length > 3)
      const pull = { repo, number: shown.pull.number }
      await call.good('pull_show', pull)
      assert.equal((await call.good('pull_list', { repo })).items.length, 1)
      await call.good('pull_comment', { body: 'Look here.', ...pull })
      assert.ok((await call.good('pull_comments', pull)).items.length > 0)
      await call.good('pull_checks', pull)
      assert.ok(Array.isArray((await call.good('task_overlap', one)).conflicts))
      await call.good('pull_open', { repo, head: shown.branch, title: 'Say hello' })
      await call.good('task_message', { text: 'Say it once more in docs/again.md.', ...one })
      await call.until(first, 'in_review')
      const fork = (await call.good('task_fork', { count: 1, ...one })).items[0].id
      tasks.push(fork)
      await call.until(fork, 'in_review')
      const scores = (await call.good('task_judge', { command: 'ls | wc -l', ...one })).items
      assert.ok(scores.every((item) => item.score > 0), JSON.stringify(scores))
      assert.match(await call.refused('task_retry', one), /nothing failed/)
      await call.good('task_close', { task_id: second })

      // What only makes sense at a desk at which somebody works: push, pull, ask, try again.
      const waits = `until test -e /tmp/go; do sleep 0.1; done
        test -e /tmp/well || { touch /tmp/well; echo 'not today' >&2; exit 1; }`
      await ask('POST', '/api/v1/agents', { name: repo, dialect: 'shell', command: waits })
      const slow = (await call.good('task_create', { repo, title: 'Take your time', agent: repo })).id
      tasks.push(slow)
      await call.good('task_start', { task_id: slow })
      const working = await call.until(slow, 'working')
      const desk = { sandbox_id: working.sandbox_id, cwd: '/workspace' }
      const file = { sandbox_id: working.sandbox_id, path: '/workspace/b.txt', text: 'one\n' }
      await call.good('files_write', file)
      await call.good('git_commit', { message: 'feat: begin', ...desk })
      await call.good('git_push', desk)
      const pushed = (await call.good('git_log', { count: 1, ...desk })).stdout
      // What was pushed comes back by a pull.
      await call.good('sandbox_exec', { command: 'git reset -q --hard HEAD~1 && ! test -e b.txt', ...desk })
      await call.good('git_pull', desk)
      assert.equal((await call.good('git_log', { count: 1, ...desk })).stdout, pushed)
      await call.good('git_pull', { from: working.base, ...desk })
      await call.good('task_ask', { question: 'Which colour?', task_id: slow })
      await call.good('sandbox_exec', { command: 'touch /tmp/go', ...desk })
      assert.equal((await call.until(slow, 'needs_you')).needs.reason, 'agent_failed')
      await call.good('task_retry', { task_id: slow })
      for (;;) {
        const asked = await call.until(slow, 'needs_you')
        if (asked.needs.reason === 'question') {
          assert.equal(asked.needs.detail, 'Which colour?')
          break
        }
      }
      await call.good('task_message', { text: 'Blue.', task_id: slow })
      assert.equal((await call.until(slow, 'in_review')).ahead, 1)

      assert.equal((await call.good('sandbox_pause', here)).phase, 'paused')
      assert.equal((await call.good('sandbox_resume', here)).phase, 'ready')
      const copies = await call.good('sandbox_fork', { count: 1, ...here })
      await call.good('sandbox_remove', { sandbox_id: (copies.items ?? [copies])[0].id })
      assert.ok((await call.good('usage_show', { by: 'model' })).total)

      const prompts = (await client.listPrompts()).prompts.map((prompt) => prompt.name)
      assert.deepEqual(prompts.sort(), ['delegate', 'finish', 'review'])
      const read = await client.readResource({ uri: `carrel://tasks/${first}/diff` })
      assert.match(read.contents[0].text, /HELLO\.md/)
      const missed = tools.map((tool) => tool.name).filter((name) => !call.called.has(name))
      assert.deepEqual(missed, [], 'every tool was driven')
    } finally {
      if (sandbox) await call.good('sandbox_remove', { sandbox_id: sandbox })
      for (const task of tasks) await ask('POST', `/api/v1/tasks/${task}/close?wait=closed&timeout=120`)
      await ask('DELETE', `/api/v1/repos/${repo}`)
      await fetch(`${CARREL_URL}/api/v1/agents/${repo}`, {
        method: 'DELETE',
        headers: { Authorization: `Bearer ${CARREL_KEY}` },
      })
      await client.close()
    }
  })
}

test('the inspector lists the same tools, and where resources are', { timeout: 300_000 }, async () => {
  const client = await connected('http')
  const names = (await client.listTools()).tools.map((tool) => tool.name)
  await client.close()
  const inspector = await connected('the inspector')
  const listed = await inspector.listTools()
  assert.deepEqual(listed.tools.map((tool) => tool.name).sort(), names.sort())
  const templates = await inspector.ask('--method', 'resources/templates/list')
  assert.ok(templates.resourceTemplates.length > 0)
  await inspector.close()
})
