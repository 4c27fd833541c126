/**
 * Reads the lines of files that are wanted, several in one request: a page that is scrolled wants some at once. What was
 * wanted last is read first, for it is what somebody looks at.
 */
export interface Wanted {
  /** Where its diff is. */
  address: string
  path: string
  /** Where it was, when it was moved. */
  before?: string | undefined
  lines: number
}

interface Wish {
  wanted: Wanted
  resolve(text: string): void
  reject(error: unknown): void
}

/** So many requests are on their way at the same time. */
const AT_ONCE = 2
const MOST_FILES = 20
const MOST_LINES = 4_000
/** Addresses may be longer; what stands between a browser and a server may disagree. */
const MOST_LETTERS = 4_000

export class Gathering {
  readonly #read: (address: string) => Promise<string>
  readonly #wishes: Wish[] = []
  #running = 0
  #isDue = false

  constructor(read: (address: string) => Promise<string>) {
    this.#read = read
  }

  /** The part of the diff that has the file; other files may stand in it too. */
  want(wanted: Wanted): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#wishes.push({ wanted, resolve, reject })
      if (this.#isDue) return
      this.#isDue = true
      // Those that come into sight together are asked for together.
      setTimeout(() => {
        this.#isDue = false
        this.#go()
      })
    })
  }

  #go(): void {
    while (this.#running < AT_ONCE && this.#wishes.length > 0) {
      const together = take(this.#wishes)
      this.#running += 1
      void this.#read(addressOf(together.map((it) => it.wanted)))
        .then(
          (text) => {
            for (const wish of together) wish.resolve(text)
          },
          (error: unknown) => {
            for (const wish of together) wish.reject(error)
          },
        )
        .finally(() => {
          this.#running -= 1
          this.#go()
        })
    }
  }
}

/** Takes the newest wish out, and others that can go with it. */
function take(wishes: Wish[]): Wish[] {
  const first = wishes.pop()
  if (!first) return []
  const together = [first]
  // A file that was moved is told by two names, and only alone is it sure which belong together.
  if (first.wanted.before !== undefined) return together
  let lines = first.wanted.lines
  for (let at = wishes.length - 1; at >= 0 && together.length < MOST_FILES; at -= 1) {
    const wish = wishes[at] as Wish
    const { address, before } = wish.wanted
    if (address !== first.wanted.address || before !== undefined) continue
    lines += wish.wanted.lines
    const next = [...together, wish]
    if (lines > MOST_LINES || addressOf(next.map((it) => it.wanted)).length > MOST_LETTERS) break
    wishes.splice(at, 1)
    together.push(wish)
  }
  return together
}

function addressOf(files: readonly Wanted[]): string {
  const [first] = files
  const asked = new URLSearchParams()
  for (const { path, before } of files) {
    asked.append('path', path)
    if (before !== undefined) asked.append('path', before)
  }
  if (first?.before === undefined) asked.append('renames', 'false')
  const address = first?.address ?? ''
  return `${address}${address.includes('?') ? '&' : '?'}${asked}`
}
