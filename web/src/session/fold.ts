/** How news of sessions is put into the cache. */
import type { QueryClient } from '@tanstack/react-query'
import { insert } from '../task/fold'
import type { Moment, Session } from '../task/types'

export function putSession(cache: QueryClient, session: Session): void {
  cache.setQueryData<Session>(['session', session.id], (held) =>
    held && isOlder(session, held) ? held : session,
  )
  const put = (list: Session[] | undefined) => {
    if (!list) return list
    const at = list.findIndex((it) => it.id === session.id)
    if (at < 0) return [session, ...list]
    const held = list[at] as Session
    return isOlder(session, held) ? list : list.with(at, session)
  }
  cache.setQueryData<Session[]>(['sessions'], put)
  if (session.phase === 'closed') cache.setQueryData<Session[]>(['closed-sessions'], put)
}

export function putSessionMoment(cache: QueryClient, id: string, moment: Moment): void {
  cache.setQueryData<Moment[]>(['session-timeline', id], (list) => list && insert(list, moment))
}

function isOlder(told: Session, held: Session): boolean {
  if (told.revision !== undefined && held.revision !== undefined) return told.revision < held.revision
  return told.updated_at < held.updated_at
}
