/** Calls that answer something other than JSON, or that the generated client does not know yet. They fail as every other call does. */
import { learnServerTime } from '../ui/clock'
import { signOutHere } from './client'
import { refusal } from './problem'

export interface Call {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  body?: unknown
  headers?: Record<string, string>
  signal?: AbortSignal
}

/** Asks the server and hands over its whole answer, or throws the `Refusal` it was. */
export async function call(
  path: string,
  { method = 'GET', body, headers, signal }: Call = {},
): Promise<Response> {
  const raw = body instanceof Blob || body instanceof ArrayBuffer
  const answer = await fetch(path, {
    method,
    credentials: 'same-origin',
    headers: { ...(body === undefined || raw ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: raw ? (body as BodyInit) : JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
  })
  learnServerTime(answer.headers.get('date'))
  if (answer.status === 401) signOutHere()
  if (!answer.ok) throw refusal(answer.status, await answer.json().catch(() => undefined))
  return answer
}

/** The same for answers in JSON; nothing for an empty one. */
export async function callJson<T>(path: string, options?: Call): Promise<T> {
  const text = await (await call(path, options)).text()
  return (text ? JSON.parse(text) : undefined) as T
}

/** As much as the server gives at once: turning pages costs a journey each. */
const PAGE = 1000

/** Every page of a list, up to `most` items. */
export async function callList<T>(path: string, most = 1000): Promise<T[]> {
  const items: T[] = []
  let cursor: string | null | undefined
  do {
    const mark = `${path}${path.includes('?') ? '&' : '?'}limit=${Math.min(most, PAGE)}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`
    const page = await callJson<{ items: T[]; next?: string | null }>(mark)
    items.push(...page.items)
    cursor = page.next
  } while (cursor && items.length < most)
  return items
}
