/**
 * A stage: the built page, served as the server serves it, in front of an API that plays back what it was given.
 *
 * For pictures of every state at once and for counting frames under a load no real house would be put under. Everything else is
 * tested against the real server.
 */
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import type { DiffFile } from '../../src/review/changes'
import { type ReadFile, readFiles } from '../../src/review/patch'
import type { Task } from '../../src/task/types'
import { type Scene, scene } from './scene'

const DIST = join(import.meta.dirname, '../../dist')
/** As `api/src/house.rs` has it. */
const POLICY =
  "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
const TYPES: Record<string, string> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

export class Stage {
  readonly scene: Scene
  readonly #server: Server
  readonly #listeners = new Set<ServerResponse>()
  #cursor = 100
  #read: { of: string; files: readonly ReadFile[] } | undefined
  /** How the API is today: it answers, refuses everything, or never says a word. */
  mood: 'well' | 'failing' | 'silent' = 'well'

  private constructor(shown: Scene) {
    this.scene = shown
    this.#server = createServer((request, response) => {
      void this.#answer(request, response).catch((error: unknown) => {
        response.writeHead(500).end(String(error))
      })
    })
  }

  static async open(shown: Scene = scene()): Promise<Stage> {
    const stage = new Stage(shown)
    await new Promise<void>((done) => stage.#server.listen(0, '127.0.0.1', done))
    return stage
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    for (const listener of this.#listeners) listener.end()
    this.#server.closeAllConnections()
    await new Promise((done) => this.#server.close(done))
  }

  /** Tells everyone who listens. */
  tell(kind: string, subject: object): void {
    this.#cursor += 1
    const data = JSON.stringify({ cursor: this.#cursor, at: new Date().toISOString(), kind, ...subject })
    for (const listener of this.#listeners)
      listener.write(`id: ${this.#cursor}\nevent: ${kind}\ndata: ${data}\n\n`)
  }

  change(id: number, change: Partial<Task>): Task {
    const at = this.scene.tasks.findIndex((it) => it.id === id)
    const before = this.scene.tasks[at] as Task
    const after: Task = {
      ...before,
      ...change,
      revision: (before.revision ?? 0) + 1,
      updated_at: new Date().toISOString(),
    }
    this.scene.tasks[at] = after
    this.tell('task', { task: after })
    return after
  }

  #files(): readonly ReadFile[] {
    if (this.#read?.of !== this.scene.diff)
      this.#read = { of: this.scene.diff, files: readFiles(this.scene.diff) }
    return this.#read.files
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.origin)
    response.setHeader('content-security-policy', POLICY)
    if (url.pathname.startsWith('/app')) return this.#page(url.pathname, response)
    if (url.pathname === '/api/v1/events') return this.#listen(response, url.searchParams.get('sandbox_id'))
    if (url.pathname === '/metrics') {
      response.writeHead(200, { 'content-type': 'text/plain' }).end(this.scene.metrics)
      return
    }
    const say = (body: unknown, status = 200) => {
      response.writeHead(status, {
        'content-type': status < 400 ? 'application/json' : 'application/problem+json',
      })
      response.end(JSON.stringify(body))
    }
    const list = (items: unknown[]) => say({ items, next: null, as_of: this.#cursor })
    const path = url.pathname.replace('/api/v1', '')
    const isPart = path !== '/me' && path !== '/sandboxes'
    if (this.mood === 'silent' && isPart) return
    if (this.mood === 'failing' && isPart)
      return say({ title: 'Unavailable', status: 503, detail: 'The database cannot be reached.' }, 503)
    if (/\/refused$/.test(path)) return list(this.scene.refused)
    if (/\/diff\/files$/.test(path)) return list(this.#files().map(listed))
    if (/\/diff$/.test(path)) {
      const wanted = new Set(url.searchParams.getAll('path'))
      const files = this.#files().filter((it) => wanted.size === 0 || wanted.has(it.path))
      response.writeHead(200, { 'content-type': 'text/x-diff' }).end(files.map((it) => it.text).join(''))
      return
    }
    const verb = /^\/tasks\/(\d+)\/(\w+)$/.exec(path)
    if (verb && request.method === 'POST') return this.#verb(Number(verb[1]), verb[2] as string, say)
    if (verb?.[2] === 'timeline') return list(this.scene.timeline)
    const one = /^\/(tasks|sandboxes|sessions)\/([^/]+)$/.exec(path)
    if (one) {
      const found = (this.scene[one[1] as 'tasks'] as { id: unknown }[]).find(
        (it) => String(it.id) === one[2],
      )
      return found ? say(found) : say({ title: 'Not found', status: 404, detail: 'It is not here.' }, 404)
    }
    if (/^\/sessions\/[^/]+\/messages$/.test(path)) return list(this.scene.talk)
    if (/\/checks$/.test(path)) return list(this.scene.checks)
    if (path === '/pulls') return list([this.scene.pull, this.scene.byHand])
    if (path === '/pulls/api/90') return say(this.scene.byHand)
    const pull = /^\/pulls\/api\/(?:88|90)(\/\w+)?$/.exec(path)
    if (pull)
      return pull[1] === '/comments'
        ? list(this.scene.remarks)
        : pull[1] === '/reviews'
          ? list(this.scene.reviews)
          : say(this.scene.pull)
    if (/^\/pulls\/[^/]+\/\d+$/.test(path))
      return say({ title: 'Not found', status: 404, detail: 'It is not here.' }, 404)
    if (/\/pushes$/.test(path)) return list([])
    if (/\/files\/list$/.test(path)) return list(this.scene.files)
    if (/\/files$/.test(path)) {
      response.writeHead(200, { 'content-type': 'application/octet-stream' }).end('pub fn hello() {}\n')
      return
    }
    if (/\/logs$/.test(path)) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const line of this.scene.log) response.write(`event: line\ndata: ${JSON.stringify(line)}\n\n`)
      return
    }
    if (/\/execs$/.test(path)) return list(this.scene.execs)
    if (/\/output$/.test(path)) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const piece = JSON.stringify({ offset: 0, text: this.scene.printed })
      response.write(`id: ${this.scene.printed.length}\nevent: stdout\ndata: ${piece}\n\n`)
      return
    }
    if (/\/stats$/.test(path)) return say(this.scene.stats(path.split('/')[2] as string))
    if (request.method === 'POST' && (path === '/repos' || path === '/agents')) {
      // What is asked for is made at once, as far as a page can see.
      const at = new Date().toISOString()
      const made = { phase: 'ready', revision: 1, created_at: at, updated_at: at, ...(await json(request)) }
      const shelf: unknown[] = path === '/repos' ? this.scene.repos : this.scene.agents
      shelf.push(made)
      return say(made, 201)
    }
    switch (path) {
      case '/me':
        return say(this.scene.me)
      case '/tasks':
        return list(this.scene.tasks)
      case '/sandboxes':
        return list(url.searchParams.get('phase') === 'gone' ? [] : this.scene.sandboxes)
      case '/repos':
        return list(this.scene.repos)
      case '/agents':
        return list(this.scene.agents)
      case '/sessions':
        return list(
          this.scene.sessions.filter(
            (it) => (it.phase === 'closed') === (url.searchParams.get('phase') === 'closed'),
          ),
        )
      case '/templates':
        return list(this.scene.templates)
      case '/providers':
        return list(this.scene.providers)
      case '/keys':
        return list(this.scene.keys)
      case '/secrets':
        return list(this.scene.secrets)
      case '/nodes':
        return list(this.scene.nodes)
      case '/audit':
        return list(this.scene.audit)
      default:
        return list([])
    }
  }

  #verb(id: number, verb: string, say: (body: unknown, status?: number) => void): void {
    const phases: Record<string, Task['phase']> = {
      start: 'queued',
      stop: 'backlog',
      retry: 'queued',
      close: 'closed',
      merge: 'merged',
    }
    const task = this.scene.tasks.find((it) => it.id === id)
    if (verb === 'merge' && task?.pull?.phase === 'conflicted') {
      say({ title: 'Conflict', status: 409, detail: 'It conflicts with main in src/login.rs.' }, 409)
      return
    }
    const phase = phases[verb]
    say(phase ? this.change(id, { phase }) : task)
  }

  #listen(response: ServerResponse, sandboxId: string | null): void {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    response.write(': hello\n\n')
    // Who asks about one sandbox is told its life from the beginning.
    const sandbox = this.scene.sandboxes.find((it) => it.id === sandboxId)
    if (sandbox)
      for (const [at, phase] of (['requested', 'preparing', 'ready'] as const).entries()) {
        const told = { ...sandbox, phase, revision: at + 1 }
        const data = JSON.stringify({
          cursor: at + 1,
          at: sandbox.created_at,
          kind: 'sandbox',
          sandbox: told,
        })
        response.write(`id: ${at + 1}\nevent: sandbox\ndata: ${data}\n\n`)
      }
    this.#listeners.add(response)
    response.on('close', () => this.#listeners.delete(response))
  }

  async #page(path: string, response: ServerResponse): Promise<void> {
    const name = path.replace(/^\/app\/?/, '') || 'index.html'
    const file = await readFile(join(DIST, name)).catch(() => undefined)
    const body = file ?? (await readFile(join(DIST, 'index.html')))
    response.writeHead(200, {
      'content-type': TYPES[file ? extname(name) : '.html'] ?? 'application/octet-stream',
    })
    response.end(body)
  }
}

async function json(request: IncomingMessage): Promise<object> {
  let text = ''
  for await (const piece of request) text += String(piece)
  return JSON.parse(text) as object
}

/** A file as the server lists it. */
function listed(file: ReadFile): DiffFile {
  const [old, fresh] = (file.ids ?? '..').split('..')
  return {
    path: file.path,
    ...(file.before ? { old_path: file.before } : {}),
    status: file.kind === 'changed' ? 'modified' : file.kind,
    additions: file.added,
    deletions: file.removed,
    binary: file.isBinary,
    ...(old && !/^0+$/.test(old) ? { old_id: old } : {}),
    ...(fresh && !/^0+$/.test(fresh) ? { new_id: fresh } : {}),
  }
}
