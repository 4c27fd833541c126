/** The people of this house: the keys that persons hold. */
import { callJson } from '../api/call'
import type { KeyChange, KeyView, SignInLink } from '../api/types'

/** Persons, and not the programs that have keys of their own. Those who left are last. */
export function people(keys: readonly KeyView[]): KeyView[] {
  return keys
    .filter((key) => key.role === 'admin' || key.role === 'member')
    .toSorted(
      (a, b) =>
        Number(Boolean(a.revoked_at)) - Number(Boolean(b.revoked_at)) ||
        Number(b.role === 'admin') - Number(a.role === 'admin') ||
        a.name.localeCompare(b.name),
    )
}

const at = (id: string) => `/api/v1/keys/${encodeURIComponent(id)}`

export const changeMember = (id: string, change: KeyChange) =>
  callJson<KeyView>(at(id), { method: 'PATCH', body: change })

/** The whole address of a link that signs its holder in, once. */
export async function invite(id: string): Promise<string> {
  const link = await callJson<SignInLink>(`${at(id)}/link`, { method: 'POST' })
  return `${window.location.origin}${link.path}`
}
