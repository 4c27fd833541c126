/** What goes wrong, in the words of RFC 9457, whether the server said it or we could not reach the server. */

import { t } from '../words/words'
import type { Problem } from './types'

export class Refusal extends Error {
  readonly status: number
  readonly hint: string | undefined
  readonly requestId: string | undefined
  /** Field name, as the body spells it, to what is wrong with it. */
  readonly fields: Readonly<Record<string, string>>

  constructor(problem: Partial<Problem> & { status: number }) {
    super(problem.detail || problem.title || t('The server answered {status}.', { status: problem.status }))
    this.name = 'Refusal'
    this.status = problem.status
    this.hint = problem.hint ?? undefined
    this.requestId = problem.request_id ?? undefined
    this.fields = Object.fromEntries(
      (problem.errors ?? []).map((error) => [fieldName(error.field), error.detail]),
    )
  }
}

/** Reads whatever an answer's error body turned out to be. */
export function refusal(status: number, body: unknown): Refusal {
  const problem = typeof body === 'object' && body !== null ? (body as Partial<Problem>) : {}
  return new Refusal({ ...problem, status })
}

/** One sentence for a person, hint included. */
export function say(error: unknown): string {
  if (error instanceof Refusal) return error.hint ? `${sentence(error.message)} ${error.hint}` : error.message
  // `fetch` rejects with a TypeError when there is nobody to talk to.
  if (error instanceof TypeError) return t('The server could not be reached.')
  return error instanceof Error ? error.message : String(error)
}

/** What went wrong with the fields of a form, by their names. */
export const fieldsOf = (error: unknown): Readonly<Record<string, string>> =>
  error instanceof Refusal ? error.fields : {}

/** What none of these fields says itself; nothing when nothing went wrong, or all of it stands beside a field. */
export function beside(error: unknown, shown: readonly string[]): string | undefined {
  if (!error) return undefined
  const fields = Object.entries(fieldsOf(error))
  const stray = fields.filter(([name]) => !shown.includes(name))
  if (fields.length > 0 && stray.length === 0) return undefined
  return stray.length > 0 ? stray.map(([name, detail]) => `${name}: ${detail}`).join(' ') : say(error)
}

/** `limits.cpus`, whether it came so or as a JSON pointer. */
function fieldName(field: string): string {
  return field.replace(/^[/#.]+/, '').replaceAll('/', '.')
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
