/** The one way this page talks to the server. */
import createClient, { type Middleware } from 'openapi-fetch'
import { learnServerTime } from '../ui/clock'
import { refusal } from './problem'
import type { paths } from './schema'

export const api = createClient<paths>({ credentials: 'same-origin' })

let signedOut: () => void = () => {}

/** Says what to do when any call is answered 401. Set once, by whoever owns the routes. */
export function onSignedOut(act: () => void): void {
  signedOut = act
}

/** A call outside the generated client was answered 401. */
export function signOutHere(): void {
  signedOut()
}

const watch: Middleware = {
  onResponse({ response, schemaPath }) {
    learnServerTime(response.headers.get('date'))
    if (response.status === 401 && schemaPath !== '/api/v1/sign-in') signedOut()
  },
}
api.use(watch)

interface Answer<T> {
  data?: T
  error?: unknown
  response: Response
}

/** Unwraps an answer, or throws the `Refusal` it was. */
export async function ask<T>(answer: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await answer
  if (!response.ok) throw refusal(response.status, error)
  return data as T
}

/** A random name for one attempt. `crypto.randomUUID` is missing on plain http away from localhost, so we spell it out. */
export function attemptKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
