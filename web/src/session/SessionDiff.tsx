/** What a session changed since it began, to be read and spoken of line by line. */
import { Reading } from '../review/Reading'
import type { Moment, Session } from '../task/types'
import { diffOf } from './queries'

interface SessionDiffProps {
  session: Session
  moments: readonly Moment[]
  since?: number | undefined
  onAll(): void
  onSend(text: string): Promise<boolean>
}

export default function SessionDiff({ session, moments, since, onAll, onSend }: SessionDiffProps) {
  const head = moments.findLast((it) => it.kind === 'checkpoint')?.commit ?? undefined
  return (
    <Reading
      of={session.id}
      branch={session.title}
      head={head}
      isBusy={Boolean(session.busy)}
      moments={moments}
      diffOf={(from) => diffOf(session, head, from)}
      since={since}
      onAll={onAll}
      onSend={onSend}
    />
  )
}
