/** As much of a GitHub as a test of the connection asks: who we are there, and four doors of which some are shut. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export class GitHub {
  readonly #server: Server
  /** What the token may do, by the door that it opens. */
  readonly open = new Set<string>()

  private constructor() {
    this.#server = createServer((request, response) => {
      const path = new URL(request.url ?? '/', 'http://here').pathname
      const say = (status: number, body: object, headers: Record<string, string> = {}) => {
        response.writeHead(status, { 'content-type': 'application/json', ...headers })
        response.end(JSON.stringify(body))
      }
      if (path === '/api/v3/user') return say(200, { id: 7, login: 'carrel-bot' })
      const repository = '/api/v3/repos/acme/api'
      if (path === repository)
        return say(200, {
          id: 1,
          name: 'api',
          full_name: 'acme/api',
          default_branch: 'main',
          archived: false,
          permissions: { admin: false, push: this.open.has('contents'), pull: true },
        })
      const door = DOORS.find((it) => path === `${repository}${it.path}`)
      if (!door) return say(404, { message: 'Not Found' })
      if (this.open.has(door.name)) return say(200, [])
      return say(
        403,
        { message: 'Resource not accessible by personal access token' },
        { 'x-accepted-github-permissions': door.wanted },
      )
    })
  }

  static async arrive(): Promise<GitHub> {
    const github = new GitHub()
    await new Promise<void>((done) => github.#server.listen(0, '127.0.0.1', done))
    return github
  }

  /** The address of a repository there. */
  get source(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/acme/api.git`
  }

  openAll(): void {
    for (const name of ['contents', ...DOORS.map((it) => it.name)]) this.open.add(name)
  }

  async leave(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((done) => this.#server.close(done))
  }
}

const DOORS = [
  { name: 'pulls', path: '/pulls', wanted: 'pull_requests=write' },
  { name: 'issues', path: '/issues/comments', wanted: 'issues=write' },
  { name: 'checks', path: '/commits/main/check-runs', wanted: 'checks=read' },
  { name: 'statuses', path: '/commits/main/status', wanted: 'statuses=write' },
]
