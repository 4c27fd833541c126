/** A real `carrel serve` in a directory of its own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const LINK = /https?:\/\/\S+\/app\/sign-in#code=\S+/

export class Server {
  readonly #data: string
  readonly #settings: Record<string, string>
  #child: ChildProcess | undefined
  /** The sign-in link printed by the latest start. */
  link = ''
  origin = ''

  private constructor(data: string, settings: Record<string, string>) {
    this.#data = data
    this.#settings = settings
  }

  /** By default with the fake provider: the page is the same for all of them, and nothing holds that one up. */
  static async open(
    settings: Record<string, string> = { CARREL_SANDBOXES_PROVIDER: 'fake' },
  ): Promise<Server> {
    const server = new Server(await mkdtemp(join(tmpdir(), 'carrel-e2e-')), settings)
    try {
      await server.start('127.0.0.1:0')
    } catch (error) {
      await server.close()
      throw error
    }
    return server
  }

  async start(listen: string): Promise<void> {
    const binary = process.env.CARREL_BIN
    if (!binary) throw new Error('CARREL_BIN must be the path of the carrel binary: CARREL_BIN=… npm run e2e')
    const child = spawn(binary, ['serve', '--listen', listen, '--data', this.#data], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...withoutCarrel(process.env), CARREL_OCI_RUNTIME: 'none', ...this.#settings },
    })
    this.#child = child
    let complaint = ''
    child.stderr?.on('data', (piece: Buffer) => {
      complaint = (complaint + piece.toString()).slice(-4_000)
    })
    this.link = await new Promise<string>((resolve, reject) => {
      child.once('error', reject)
      child.once('exit', (code) =>
        reject(new Error(`carrel serve ended with ${code} before it printed a link:\n${complaint}`)),
      )
      createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
        const link = LINK.exec(line)?.[0]
        if (link) resolve(link)
      })
    })
    this.origin = new URL(this.link).origin
  }

  /** The server dies without a word. */
  async crash(): Promise<void> {
    await this.#end('SIGKILL')
  }

  async restart(): Promise<void> {
    await this.start(new URL(this.origin).host)
  }

  /** Sandboxes outlive their server on purpose; these must not outlive the test. */
  async clear(): Promise<void> {
    const { items: tasks } = await this.ask<{ items: { id: number; phase: string }[] }>(
      'GET',
      '/tasks?limit=1000',
    )
    for (const task of tasks) {
      if (!['merged', 'closed'].includes(task.phase)) await this.ask('POST', `/tasks/${task.id}/close`)
    }
    const { items: sessions } = await this.ask<{ items: { id: string; phase: string }[] }>(
      'GET',
      '/sessions?limit=1000',
    )
    for (const session of sessions) {
      if (session.phase !== 'closed') await this.ask('DELETE', `/sessions/${session.id}`)
    }
    let items: { id: string }[]
    do {
      items = (await this.ask<{ items: { id: string }[] }>('GET', '/sandboxes?limit=100')).items
      // One that is busy is asked again.
      for (const sandbox of items) await this.ask('DELETE', `/sandboxes/${sandbox.id}`).catch(() => undefined)
    } while (items.length > 0)
  }

  async close(): Promise<void> {
    await this.#end('SIGTERM')
    await rm(this.#data, { recursive: true, force: true })
  }

  async adminKey(): Promise<string> {
    return (await readFile(join(this.#data, 'admin.key'), 'utf8')).trim()
  }

  /** Asks the API as a script would, from outside the browser. */
  async ask<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await fetch(`${this.origin}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${await this.adminKey()}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status}: ${text}`)
    return (text ? JSON.parse(text) : undefined) as T
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill(signal)
    const patience = setTimeout(() => child.kill('SIGKILL'), 15_000)
    await ended
    clearTimeout(patience)
  }
}

/** What the machine's owner set for their own Carrel must not reach this one. */
function withoutCarrel(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('CARREL_')))
}
