/** The form for a new sandbox: what people type, and the body it means. */
import type { NewSandbox } from '../api/types'
import { parseDuration } from '../ui/time'
import { t } from '../words/words'

export interface Pair {
  /** Names the row while it is edited; its content may repeat. */
  row: number
  name: string
  value: string
}

export interface Form {
  template: string
  provider: string
  lifetime: string
  auto_pause: boolean
  cpus: string
  memory_mb: string
  disk_mb: string
  pids: string
  mode: '' | 'none' | 'allow' | 'open'
  allow: string
  metadata: Pair[]
  env: Pair[]
}

export const BLANK: Form = {
  template: 'host',
  provider: '',
  lifetime: '',
  auto_pause: false,
  cpus: '',
  memory_mb: '',
  disk_mb: '',
  pids: '',
  mode: '',
  allow: '',
  metadata: [],
  env: [],
}

/** Field names as the API spells them, to what is wrong. */
export type FieldErrors = Record<string, string>

/** What was typed, as a body; or what is wrong with it. What was left empty is left to the server. */
export function read(form: Form): { body: NewSandbox; errors: FieldErrors } {
  const errors: FieldErrors = {}
  const body: NewSandbox = {}

  if (form.template.trim()) body.template = form.template.trim()
  if (form.provider) body.provider = form.provider
  if (form.auto_pause) body.auto_pause = true
  if (form.lifetime.trim()) {
    const seconds = parseDuration(form.lifetime)
    if (seconds === undefined || seconds < 1)
      errors.timeout_s = t('Write a length of time, such as 15m, 1h30m or 2d.')
    else body.timeout_s = seconds
  }

  const limits: NonNullable<NewSandbox['limits']> = {}
  for (const name of ['cpus', 'memory_mb', 'disk_mb', 'pids'] as const) {
    const text = form[name].trim()
    if (!text) continue
    const amount = Number(text)
    if (!(amount > 0)) errors[`limits.${name}`] = t('Write a number above zero.')
    else if (name !== 'cpus' && !Number.isInteger(amount))
      errors[`limits.${name}`] = t('Write a whole number.')
    else limits[name] = amount
  }
  if (Object.keys(limits).length > 0) body.limits = limits

  if (form.mode) {
    const allow = form.allow.split(/[\s,]+/).filter(Boolean)
    body.network = form.mode === 'allow' ? { mode: 'allow', allow } : { mode: form.mode }
    if (form.mode === 'allow' && allow.length === 0) errors['network.allow'] = t('Name at least one host.')
  }

  for (const field of ['metadata', 'env'] as const) {
    const pairs = form[field].filter((pair) => pair.name.trim() || pair.value)
    const names = pairs.map((pair) => pair.name.trim())
    if (names.some((name) => !name)) errors[field] = t('Every value needs a name.')
    else if (new Set(names).size < names.length) errors[field] = t('A name stands here twice.')
    else if (pairs.length > 0)
      body[field] = Object.fromEntries(pairs.map((pair) => [pair.name.trim(), pair.value]))
  }
  return { body, errors }
}

/** Every field this form can show an error at. */
const FIELDS = [
  'template',
  'provider',
  'timeout_s',
  'limits.cpus',
  'limits.memory_mb',
  'limits.disk_mb',
  'limits.pids',
  'network.mode',
  'network.allow',
  'network',
  'metadata',
  'env',
]

/**
 * Puts each of the server's complaints at the field it belongs to: one about `env.1A` is shown at `env`, and names `1A`.
 * What has no place here keeps its own name.
 */
export function place(complaints: Readonly<FieldErrors>): FieldErrors {
  const placed: FieldErrors = {}
  for (const [field, detail] of Object.entries(complaints)) {
    const home = FIELDS.find((it) => field === it || field.startsWith(`${it}.`) || field.startsWith(`${it}[`))
    const rest = home === undefined ? '' : field.slice(home.length).replace(/^\./, '')
    const name = home ?? field
    const text = rest ? `${rest}: ${detail}` : detail
    placed[name] = placed[name] ? `${placed[name]}; ${text}` : text
  }
  return placed
}

/** Complaints about fields that this form does not have. */
export function homeless(errors: FieldErrors): [string, string][] {
  return Object.entries(errors).filter(([field]) => !FIELDS.includes(field))
}

/** Fields in view before "More" is opened. */
const FIRST_FIELDS = ['template', 'provider', 'timeout_s']

export function isUnderMore(field: string): boolean {
  return !FIRST_FIELDS.includes(field)
}
