/** A task as people write it, and the body it means. */

import { t } from '../words/words'
import type { Dependency, NewTask, Until } from './types'

export interface Draft {
  text: string
  repo: string
  agent: string
  base: string
  isolation: '' | NonNullable<NewTask['isolation']>
  network: '' | 'none' | 'allow' | 'open'
  allow: string
  budget: string
  priority: string
  labels: string
  after: Dependency[]
  start: boolean
}

export const BLANK: Draft = {
  text: '',
  repo: '',
  agent: '',
  base: '',
  isolation: '',
  network: '',
  allow: '',
  budget: '',
  priority: '',
  labels: '',
  after: [],
  start: true,
}

export type DraftErrors = Partial<Record<string, string>>

const LONGEST_TITLE = 100
const ISSUE = /https?:\/\/([^\s/]+)\/([^\s/]+)\/([^\s/]+)\/(?:-\/)?issues\/(\d+)/

/** An issue that the text leads to, when it does. */
export function issueIn(text: string): { name: string; url: string } | undefined {
  const found = ISSUE.exec(text)
  return found ? { name: `${found[2]}/${found[3]}#${found[4]}`, url: found[0] } : undefined
}

/** The first line is the title; a long one is cut at a word and kept whole in the prompt. */
export function titleAndPrompt(text: string): { title: string; prompt?: string } {
  const clean = text.trim()
  const [first = '', ...rest] = clean.split('\n')
  const issue = issueIn(first)
  if (issue && first.trim() === issue.url)
    return { title: t('Resolve {name}', { name: issue.name }), prompt: clean }
  const line = first.trim()
  if (line.length <= LONGEST_TITLE)
    return rest.join('').trim() ? { title: line, prompt: clean } : { title: line }
  const cut = line.lastIndexOf(' ', LONGEST_TITLE - 1)
  return { title: `${line.slice(0, cut > 40 ? cut : LONGEST_TITLE - 1)}…`, prompt: clean }
}

/** What was written, as a body; or what is wrong with it. What was left empty is left to the server. */
export function read(draft: Draft): { body: NewTask; errors: DraftErrors } {
  const errors: DraftErrors = {}
  const body: NewTask = { repo: draft.repo, ...titleAndPrompt(draft.text), start: draft.start }
  if (!body.title) errors.text = t('Say in a sentence what should be done.')
  if (!draft.repo) errors.repo = t('Choose a repository.')
  if (draft.agent) body.agent = draft.agent
  if (draft.base.trim()) body.base = draft.base.trim()
  if (draft.isolation) body.isolation = draft.isolation
  if (draft.network) {
    const allow = draft.allow.split(/[\s,]+/).filter(Boolean)
    body.network = draft.network === 'allow' ? { mode: 'allow', allow } : { mode: draft.network }
    if (draft.network === 'allow' && allow.length === 0) errors.network = t('Name at least one host.')
  }
  if (draft.budget.trim()) {
    const amount = Number(draft.budget.trim().replace(/^\$/, '').replace(',', '.'))
    if (!(amount > 0)) errors.budget_usd = t('Write an amount above zero, such as 2.50.')
    else body.budget_usd = amount
  }
  if (draft.priority.trim()) {
    const priority = Number(draft.priority)
    if (!Number.isInteger(priority)) errors.priority = t('Write a whole number.')
    else body.priority = priority
  }
  const labels = [...new Set(draft.labels.split(/[\s,]+/).filter(Boolean))]
  if (labels.length > 0) body.labels = labels
  if (draft.after.length > 0) body.depends_on = draft.after
  return { body, errors }
}

export const UNTIL_WORDS: Record<Until, string> = {
  started: t('has started'),
  in_review: t('is in review'),
  merged: t('is merged'),
}

/** Beginnings for wishes that come often. */
export const TEMPLATES: readonly { name: string; text: string }[] = [
  {
    name: t('Fix a bug'),
    text: t('Fix: \n\nWhat happens:\nWhat should happen:\n\nBegin with a test that fails because of it.'),
  },
  {
    name: t('Add a feature'),
    text: t('Add \n\nWhy:\nDone when:\n- \n\nKeep to the style of the code around it, with tests and docs.'),
  },
  {
    name: t('Write tests'),
    text: t(
      'Write tests for \n\nCover the ordinary case, the edges and what should be refused. Change no behaviour.',
    ),
  },
  {
    name: t('Refactor'),
    text: t('Make  simpler without changing what it does\n\nSmall commits, each with all tests passing.'),
  },
  {
    name: t('Update dependencies'),
    text: t(
      'Bring the dependencies up to date\n\nOne commit per dependency that needs changes; run all checks; say in the pull what was left and why.',
    ),
  },
]
