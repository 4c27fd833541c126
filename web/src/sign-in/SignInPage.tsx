/** The door. A link opens it once; a key opens it always; without either, it says where they come from. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, useLocation, useRouter } from '@tanstack/react-router'
import { type FormEvent, useEffect, useState } from 'react'
import { api, ask } from '../api/client'
import { Refusal, say } from '../api/problem'
import { keys } from '../api/queries'
import type { Bearer } from '../api/types'
import { EmptyDesk } from '../sandbox/Desk'
import { Button } from '../ui/Button'
import { Field, Input } from '../ui/Field'
import { Command, Trouble } from '../ui/Small'
import { rich, t } from '../words/words'
import { codeIn, understand } from './code'

const route = getRouteApi('/sign-in')

type Proof = { code: string } | { key: string }

export function SignInPage() {
  const { to } = route.useSearch()
  const router = useRouter()
  const cache = useQueryClient()
  const fragment = useLocation({ select: (location) => location.hash })
  const [text, setText] = useState('')
  const [confusion, setConfusion] = useState<string>()

  const signIn = useMutation({
    mutationFn: (proof: Proof) => present(proof),
    onSuccess: (bearer) => {
      cache.clear()
      cache.setQueryData(keys.me, bearer)
      router.history.replace(`${router.basepath.replace(/\/$/, '')}${to ?? '/'}`)
    },
  })

  const { mutate } = signIn
  useEffect(() => {
    const code = codeIn(fragment)
    if (!code) return
    // The code must not stay in the address bar, nor in the history.
    window.history.replaceState(window.history.state, '', window.location.pathname + window.location.search)
    mutate({ code })
  }, [fragment, mutate])

  const submit = (event: FormEvent) => {
    event.preventDefault()
    const proof = understand(text)
    setConfusion(proof ? undefined : t('Paste a whole sign-in link, or a key that begins with crl_.'))
    if (proof) mutate(proof)
  }

  const isOpening = signIn.isPending || signIn.isSuccess
  return (
    <main className="grid min-h-dvh place-items-center px-4 py-10">
      <title>{t('Sign in · Carrel')}</title>
      <div className="w-full max-w-md">
        <div className="flex flex-col items-center text-center">
          <EmptyDesk />
          <h1 className="text-display">Carrel</h1>
          <p role="status" className="mt-1 font-serif text-lead italic text-soft">
            {isOpening ? t('Opening the door…') : t('A private desk for every agent.')}
          </p>
        </div>

        {!isOpening && (
          <div className="mt-7 space-y-5 rounded-2xl border border-line bg-paper p-6 shadow-card">
            {signIn.isError && <Refused error={signIn.error} />}
            <div className="space-y-2 text-soft">
              <p>
                {rich(
                  'You come in by a sign-in link. {code} prints one when it starts; each works once. For another, run this where Carrel runs:',
                  { code: <code className="font-mono text-small text-ink">carrel serve</code> },
                )}
              </p>
              <Command>carrel sign-in</Command>
            </div>
            <form onSubmit={submit} className="space-y-3">
              <Field label={t('Or paste a link or a key')} error={confusion}>
                {(wiring) => (
                  <Input
                    {...wiring}
                    type="password"
                    name="key"
                    placeholder={t('crl_…')}
                    value={text}
                    onChange={(event) => setText(event.target.value)}
                  />
                )}
              </Field>
              <Button tone="primary" type="submit" className="w-full">
                {t('Sign in')}
              </Button>
            </form>
          </div>
        )}
      </div>
    </main>
  )
}

function Refused({ error }: { error: Error }) {
  const isUsed = error instanceof Refusal && error.status >= 400 && error.status < 500 && error.status !== 429
  return isUsed ? (
    <Trouble
      title={t('That did not open the door')}
      detail={t(
        'A sign-in link works once and not for long; a key works until it is revoked. Ask for a new link below.',
      )}
    />
  ) : (
    <Trouble title={t('Signing in did not work')} detail={say(error)} />
  )
}

const presented = new Map<string, Promise<Bearer>>()

/** A code is good for one try, so it is shown once even when React looks twice. */
function present(proof: Proof): Promise<Bearer> {
  const name = JSON.stringify(proof)
  const ongoing = presented.get(name)
  if (ongoing) return ongoing
  const answer = ask(api.POST('/api/v1/sign-in', { body: proof })).then((it) => it.bearer)
  presented.set(name, answer)
  void answer.finally(() => presented.delete(name)).catch(() => {})
  return answer
}
