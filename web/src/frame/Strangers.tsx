/** Pages for when there is no page: a wrong turn, a closed door, a broken shelf. */
import { useQuery } from '@tanstack/react-query'
import { type ErrorComponentProps, Link, useRouter } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { say } from '../api/problem'
import { me } from '../api/queries'
import { EmptyDesk } from '../sandbox/Desk'
import { Button } from '../ui/Button'
import { Empty, Trouble } from '../ui/Small'
import { worded } from '../words/enums'
import { t } from '../words/words'
import { Mark } from './Mark'

/** The first moment, when nothing is known yet. Shown only when the moment is long. */
export function Waiting() {
  return (
    <div role="status" aria-label={t('Loading')} className="grid min-h-dvh place-items-center">
      <Mark className="size-12 animate-breathe" />
    </div>
  )
}

export function NotFound() {
  return (
    <Empty title={t('No such shelf')} art={<EmptyDesk />}>
      <title>{t('Not found · Carrel')}</title>
      <p>{t('Nothing is kept at this address.')}</p>
      <div>
        <Link to="/" className="text-lamp underline underline-offset-4">
          {t('Back to the board')}
        </Link>
      </div>
    </Empty>
  )
}

export function Broken({ error, reset }: ErrorComponentProps) {
  const router = useRouter()
  return (
    <div className="mx-auto max-w-xl px-4 py-16">
      <title>Carrel</title>
      <Trouble title={t('This page broke')} detail={say(error)}>
        <Button onClick={() => void router.invalidate().then(reset)}>{t('Try again')}</Button>
      </Trouble>
    </div>
  )
}

/** Shows its page to admins and says so to everyone else. The server decides all the same. */
export function AdminsOnly({ children }: { children: ReactNode }) {
  const { data: bearer } = useQuery(me)
  if (!bearer || bearer.role === 'admin') return children
  return (
    <Empty title={t('For admins')}>
      <p>
        {t('Your key has the role {role}. Ask an admin for what you need here.', {
          role: worded(bearer.role),
        })}
      </p>
    </Empty>
  )
}
