/** Which conversations are listed: by their title, or by something that was said in them. */
import type { Session } from '../task/types'

/** Those whose title holds the text, and those that the server found it in; each once, in the order they had. */
export function matching(
  all: readonly Session[],
  found: readonly Session[],
  text: string,
): readonly Session[] {
  const wanted = text.trim().toLowerCase()
  if (!wanted) return all
  const known = new Set(found.map((it) => it.id))
  const titled = all.filter((it) => known.has(it.id) || it.title.toLowerCase().includes(wanted))
  const listed = new Set(titled.map((it) => it.id))
  return [...titled, ...found.filter((it) => !listed.has(it.id))]
}
