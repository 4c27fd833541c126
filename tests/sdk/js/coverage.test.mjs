/**
 * Every method that the SDK exposes is called somewhere in these tests, or stands below with a reason: a new release that
 * brings one fails here until somebody has tried it.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import * as e2b from 'e2b'
import { Sandbox as Interpreter } from '@e2b/code-interpreter'

const here = new URL('.', import.meta.url)
const tests = readdirSync(here)
  .filter((name) => name.endsWith('.test.mjs') && name !== 'coverage.test.mjs')
  .map((name) => readFileSync(new URL(name, here), 'utf8'))
  .join('\n')

// What TypeScript calls private, and what asks nothing of a server.
const inner = ['resolveOpts', 'boundOpts', 'resolveApiOpts', 'length', 'name', 'prototype', 'constructor']
const known = {
  Sandbox: ['fileUrl', 'defaultTemplate', 'defaultMcpTemplate', 'getFullInfo', 'createSandbox', 'forkSandbox', 'connectSandbox', 'defaultSandboxTimeoutMs'],
  Git: ['runGit', 'runShell', 'getRemoteUrl', 'resolveRemoteName', 'withRemoteCredentials', 'hasUpstream'],
  Secret: [],
  Volume: [],
  Template: [
    ...['Debian', 'Ubuntu', 'Fedora', 'Alpine', 'Arch', 'Python', 'Node', 'Bun', 'Base'].map((it) => `from${it}Image`),
    // They only write steps of a build, which are tried as such.
    ...['copyItems', 'addMcpServer', 'betaDevContainerPrebuild', 'betaSetDevContainerStart'],
    ...['collectStackTrace', 'instructionsWithHashes', 'serialize'],
  ],
}
known.Interpreter = [...known.Sandbox, 'jupyterUrl', 'getJupyterRequestUrl', 'includeDiagnostics', 'handleRequestError']

function methods(kind) {
  const names = new Set()
  for (let it = kind.prototype; it && it !== Object.prototype; it = Object.getPrototypeOf(it)) {
    for (const name of Object.getOwnPropertyNames(it)) names.add(name)
  }
  for (let it = kind; it && it !== Function.prototype; it = Object.getPrototypeOf(it)) {
    for (const name of Object.getOwnPropertyNames(it)) names.add(name)
  }
  return [...names].filter((name) => !name.startsWith('_') && !inner.includes(name))
}

const kinds = { Sandbox: e2b.Sandbox, Git: e2b.Git, Secret: e2b.Secret, Volume: e2b.Volume, Template: e2b.Template, Interpreter }
for (const [name, kind] of Object.entries(kinds)) {
  test(`every method of ${name} is tried`, () => {
    const untried = methods(kind).filter((it) => !known[name].includes(it) && !new RegExp(`\\.${it}\\b`).test(tests))
    assert.deepEqual(untried, [])
  })
}

test('every method of what a sandbox has is tried', async () => {
  const sandbox = await e2b.Sandbox.create({ timeoutMs: 60_000 })
  try {
    for (const part of ['commands', 'files', 'pty']) {
      const names = methods(sandbox[part].constructor)
      const untried = names.filter((it) => !new RegExp(`\\.${it}\\b`).test(tests))
      const own = untried.filter((it) => !['supportsStdinClose', 'start', 'watchDirRaw'].includes(it))
      assert.deepEqual(own, [], part)
    }
  } finally {
    await sandbox.kill()
  }
})
