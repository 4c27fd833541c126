/**
 * Every word that people read on this page passes here.
 *
 * The English sentence is its own name, so the code stays readable; a language is a table from these sentences to others
 * (`catalogue.json` lists them all). The table is read before anything is drawn: choosing a language is keeping its table
 * and loading the page again. What is not in the table is shown in English.
 */
import { createElement, Fragment, type ReactNode } from 'react'

/** One sentence, or one for each plural form that the language has (`one`, `few`, `many`, `other`, …). */
export type Said = string | Readonly<Record<string, string>>

export interface Language {
  /** As `Intl` knows it. */
  code: string
  words(english: string): Said | undefined
}

type Values = Readonly<Record<string, string | number>>

const NAME = 'carrel.language'
export const ENGLISH: Language = { code: 'en-US', words: () => undefined }

/** Sentences that can be told from those that were forgotten: for tests, and for layouts that must stand longer words. */
export const PSEUDO: Language = { code: 'en-XA', words: (english) => pseudo(english) }

let language = kept()

function kept(): Language {
  try {
    const text = localStorage.getItem(NAME)
    if (!text) return ENGLISH
    if (text === PSEUDO.code) return PSEUDO
    const { code, words } = JSON.parse(text) as { code: string; words: Record<string, Said> }
    return { code, words: (english) => words[english] }
  } catch {
    // Nothing is kept, or it cannot be understood.
    return ENGLISH
  }
}

/** For tests: what is said from now on. */
export function speak(next: Language): void {
  language = next
}

/** The locale of numbers and times: the reader's own while the page speaks English. */
export const locale = (): string | undefined => (language === ENGLISH ? undefined : language.code)

/** A sentence, with values in the places of their names. */
export function t(english: string, values?: Values): string {
  const said = language.words(english)
  return fill(typeof said === 'string' ? said : english, values)
}

/** A sentence about a number of things: `{n}` is the number. The two English forms together are its name. */
export function tn(amount: number, one: string, other: string, values?: Values): string {
  const said = language.words(`${one} | ${other}`)
  const forms = typeof said === 'object' ? said : said === undefined ? { one, other } : cut(said)
  const form = forms[plurals(language.code).select(amount)] ?? forms.other ?? other
  return fill(form, { n: amount.toLocaleString(language.code), ...values })
}

const rules = new Map<string, Intl.PluralRules>()

/** The rules of a language are dear to make, and asked at every drawing. */
function plurals(code: string): Intl.PluralRules {
  const known = rules.get(code) ?? new Intl.PluralRules(code)
  rules.set(code, known)
  return known
}

/** A sentence with parts of the page in it: links, keys, moments. */
export function rich(english: string, parts: Readonly<Record<string, ReactNode>>): ReactNode {
  const said = language.words(english)
  const pieces = (typeof said === 'string' ? said : english).split(/\{(\w+)\}/)
  return createElement(
    Fragment,
    null,
    ...pieces.map((piece, at) => (at % 2 === 0 ? piece : piece in parts ? parts[piece] : `{${piece}}`)),
  )
}

function fill(text: string, values: Values | undefined): string {
  if (!values) return text
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole))
}

function cut(forms: string): Record<string, string> {
  const [one, other] = forms.split(' | ')
  return { one: one ?? forms, other: other ?? one ?? forms }
}

const LETTERS: Record<string, string> = {
  a: 'á',
  e: 'é',
  i: 'í',
  o: 'ó',
  u: 'ú',
  A: 'Á',
  E: 'É',
  O: 'Ó',
  n: 'ñ',
  y: 'ý',
}

/** `Merge` becomes `⟦Mérgé⟧`. Names of values stay as they are. */
function pseudo(english: string): string {
  const changed = (part: string) => part.replace(/[aeiounyAEO]/g, (letter) => LETTERS[letter] ?? letter)
  const whole = english
    .split(/(\{\w+\})/)
    .map((part, at) => (at % 2 === 0 ? changed(part) : part))
    .join('')
  return english.includes(' | ')
    ? whole
        .split(' | ')
        .map((it) => `⟦${it}⟧`)
        .join(' | ')
    : `⟦${whole}⟧`
}
