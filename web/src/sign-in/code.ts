/** Sign-in links carry their code in the fragment, which browsers never send anywhere by themselves. */

/** The code in a fragment such as `#code=abc`, if there is one. */
export function codeIn(fragment: string): string | undefined {
  return new URLSearchParams(fragment.replace(/^#/, '')).get('code') || undefined
}

/** Understands what people paste: a whole link, a bare code in a fragment, or a key. */
export function understand(text: string): { code: string } | { key: string } | undefined {
  const clean = text.trim()
  if (!clean) return undefined
  const hash = clean.indexOf('#')
  if (hash >= 0) {
    const code = codeIn(clean.slice(hash))
    return code ? { code } : undefined
  }
  return { key: clean }
}

/** A wish to go somewhere after signing in is kept only when it leads to our own pages. */
export function safeWish(wish: unknown): string | undefined {
  return typeof wish === 'string' && /^\/(?![/\\])/.test(wish) && !wish.startsWith('/sign-in')
    ? wish
    : undefined
}
