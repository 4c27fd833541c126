import { describe, expect, it } from 'vitest'
import { draftOf, rulesOf } from './patterns'

describe('commands as they are typed', () => {
  it('are one pattern on each line, each once', () =>
    expect(rulesOf({ allow: 'git **\n\n  make test \ngit **\n', deny: '' })).toEqual({
      allow: ['git **', 'make test'],
      deny: [],
    }))

  it('come back as they were', () => {
    const rules = { allow: ['git **', 'make test'], deny: ['git push **'] }
    expect(rulesOf(draftOf(rules))).toEqual(rules)
    expect(draftOf(undefined)).toEqual({ allow: '', deny: '' })
  })
})
