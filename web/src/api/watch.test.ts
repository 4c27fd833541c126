import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Surroundings, UNSEEN_MS, watch } from './watch'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** One lock, given in the order it was asked for, as browsers do. */
class Locks {
  #queue: { run: () => Promise<void>; signal: AbortSignal }[] = []
  #isHeld = false

  request = ((_name: string, { signal }: { signal: AbortSignal }, run: () => Promise<void>) =>
    new Promise<void>((done, fail) => {
      signal.addEventListener('abort', () => fail(signal.reason))
      this.#queue.push({ signal, run: () => run().then(done) })
      queueMicrotask(() => this.#next())
    })) as unknown as LockManager['request']

  #next(): void {
    if (this.#isHeld) return
    this.#queue = this.#queue.filter((it) => !it.signal.aborted)
    const next = this.#queue.shift()
    if (!next) return
    this.#isHeld = true
    void next.run().finally(() => {
      this.#isHeld = false
      this.#next()
    })
  }
}

/** A tab with an ear, and whether it listens. */
class Tab {
  hidden = false
  listens = true
  readonly stop: () => void
  readonly #page = new EventTarget()

  constructor(locks: Surroundings['locks'], hidden = false) {
    this.hidden = hidden
    const tab = this
    const page = {
      get hidden() {
        return tab.hidden
      },
      addEventListener: this.#page.addEventListener.bind(this.#page),
      removeEventListener: this.#page.removeEventListener.bind(this.#page),
    } as Surroundings['page']
    this.stop = watch(
      {
        rest: () => {
          this.listens = false
        },
        wake: () => {
          this.listens = true
        },
      },
      { page, locks },
    )
  }

  async turn(hidden: boolean): Promise<void> {
    this.hidden = hidden
    this.#page.dispatchEvent(new Event('visibilitychange'))
    await vi.advanceTimersByTimeAsync(0)
  }
}

describe('of tabs that nobody looks at', () => {
  it('one goes on listening, and the others rest', async () => {
    const locks = new Locks()
    const tabs = [new Tab(locks), new Tab(locks), new Tab(locks)]
    for (const tab of tabs) await tab.turn(true)
    await vi.advanceTimersByTimeAsync(UNSEEN_MS + 2_000)
    expect(tabs.map((tab) => tab.listens)).toEqual([true, false, false])
  })

  it('another takes over when the one that listened is closed, or looked at', async () => {
    const locks = new Locks()
    const tabs = [new Tab(locks), new Tab(locks), new Tab(locks)] as const
    for (const tab of tabs) await tab.turn(true)
    await vi.advanceTimersByTimeAsync(UNSEEN_MS + 2_000)
    tabs[0].stop()
    await vi.advanceTimersByTimeAsync(0)
    expect([tabs[1].listens, tabs[2].listens]).toEqual([true, false])
    await tabs[1].turn(false)
    expect([tabs[1].listens, tabs[2].listens]).toEqual([true, true])
  })

  it('none lets go for a glance elsewhere', async () => {
    const tab = new Tab(new Locks())
    await tab.turn(true)
    await vi.advanceTimersByTimeAsync(UNSEEN_MS - 100)
    await tab.turn(false)
    await vi.advanceTimersByTimeAsync(UNSEEN_MS * 4)
    expect(tab.listens).toBe(true)
  })

  it('one that was opened in the background is like the others', async () => {
    const locks = new Locks()
    const tabs = [new Tab(locks, true), new Tab(locks, true)]
    await vi.advanceTimersByTimeAsync(UNSEEN_MS + 2_000)
    expect(tabs.map((tab) => tab.listens)).toEqual([true, false])
  })

  it('each listens now and then where they cannot agree', async () => {
    const tab = new Tab(undefined)
    await tab.turn(true)
    await vi.advanceTimersByTimeAsync(UNSEEN_MS + 100)
    expect(tab.listens).toBe(false)
    await vi.advanceTimersByTimeAsync(30_000)
    expect(tab.listens).toBe(true)
    await vi.advanceTimersByTimeAsync(5_000)
    expect(tab.listens).toBe(false)
    await tab.turn(false)
    await vi.advanceTimersByTimeAsync(120_000)
    expect(tab.listens).toBe(true)
  })
})
