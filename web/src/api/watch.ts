/**
 * Who listens while nobody looks.
 *
 * Browsers allow six connections per server over HTTP/1.1, for all tabs together, so a tab that is not looked at lets go of its
 * own. But somebody must hear that a card needs a person, or the number in the title, the bell and the notice on the desktop would
 * come only to those who look anyway. So of all hidden tabs one goes on listening, and when it is closed another takes its place.
 *
 * Tabs agree on it by a lock that the browser keeps, which exists by https and on the machine itself. Elsewhere each hidden tab
 * listens for a moment now and then; what happened meanwhile is told to it then.
 */

export interface Listener {
  rest(): void
  wake(): void
}

/** The parts of the browser we use, so that tests can stand in for it. */
export interface Surroundings {
  page: Pick<Document, 'hidden' | 'addEventListener' | 'removeEventListener'>
  locks: Pick<LockManager, 'request'> | undefined
}

/** A glance at another tab is not worth a reconnection. */
export const UNSEEN_MS = 5_000
/** The lock is given at once when nobody has it. */
const GIVEN_MS = 1_000
const BETWEEN_MS = 30_000
const MOMENT_MS = 4_000
const LOCK = 'carrel.listener'

export function watch(
  listener: Listener,
  { page, locks }: Surroundings = { page: document, locks: navigator.locks },
): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let wait: AbortController | undefined
  let giveBack: (() => void) | undefined

  const leave = () => {
    clearTimeout(timer)
    wait?.abort()
    giveBack?.()
    giveBack = undefined
  }

  const listenForAll = (held: NonNullable<Surroundings['locks']>) => {
    wait = new AbortController()
    held
      .request(LOCK, { signal: wait.signal }, () => {
        clearTimeout(timer)
        listener.wake()
        return new Promise<void>((done) => {
          giveBack = done
        })
      })
      // Somebody looks again before it was our turn.
      .catch(() => undefined)
    timer = setTimeout(() => listener.rest(), GIVEN_MS)
  }

  const listenNowAndThen = () => {
    listener.rest()
    timer = setTimeout(() => {
      listener.wake()
      timer = setTimeout(listenNowAndThen, MOMENT_MS)
    }, BETWEEN_MS)
  }

  const look = () => {
    leave()
    if (!page.hidden) listener.wake()
    else timer = setTimeout(() => (locks ? listenForAll(locks) : listenNowAndThen()), UNSEEN_MS)
  }

  page.addEventListener('visibilitychange', look)
  if (page.hidden) look()
  return () => {
    page.removeEventListener('visibilitychange', look)
    leave()
  }
}
