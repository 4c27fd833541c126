/** Times for people. All of them take `now`, so the same moment always reads the same. */

import { locale, t } from '../words/words'
import { zoneChosen } from './zone'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** How long ago, in its largest unit: `now`, `42 s`, `3 min`, `5 h`, `12 d`. */
export function age(at: string, now: number): string {
  const passed = Math.max(0, now - Date.parse(at))
  if (passed < 2 * SECOND) return t('now')
  if (passed < MINUTE) return t('{n} s', { n: Math.floor(passed / SECOND) })
  if (passed < HOUR) return t('{n} min', { n: Math.floor(passed / MINUTE) })
  if (passed < DAY) return t('{n} h', { n: Math.floor(passed / HOUR) })
  return t('{n} d', { n: Math.floor(passed / DAY) })
}

/** How long something runs, in the units people count it in: `0:42`, `12:05`, `1 h 07`, `2 d 4 h`. */
export function stopwatch(since: string, now: number): string {
  const seconds = Math.floor(Math.max(0, now - Date.parse(since)) / SECOND)
  if (seconds < 3600) return `${Math.floor(seconds / 60)}:${two(seconds % 60)}`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 24 * 60) return t('{h} h {m}', { h: Math.floor(minutes / 60), m: two(minutes % 60) })
  const hours = Math.floor(minutes / 60)
  return t('{d} d {h} h', { d: Math.floor(hours / 24), h: hours % 24 })
}

/** What is left, finer towards the end: `0:42`, `9:05`, `25 min`, `3 h 07`, `2 d 4 h`. Never below zero. */
export function countdown(until: string, now: number): string {
  const left = Math.max(0, Date.parse(until) - now)
  const seconds = Math.ceil(left / SECOND)
  if (seconds < 600) return `${Math.floor(seconds / 60)}:${two(seconds % 60)}`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return t('{n} min', { n: minutes })
  if (minutes < 24 * 60) return t('{h} h {m}', { h: Math.floor(minutes / 60), m: two(minutes % 60) })
  const hours = Math.floor(minutes / 60)
  return t('{d} d {h} h', { d: Math.floor(hours / 24), h: hours % 24 })
}

/** The part of a lifetime that is left, from 1 down to 0. */
export function fractionLeft(until: string, wholeSeconds: number, now: number): number {
  if (wholeSeconds <= 0) return 0
  return Math.min(1, Math.max(0, (Date.parse(until) - now) / (wholeSeconds * SECOND)))
}

/** A length of time as it was asked for: `90 s`, `15 min`, `1 h 30 min`, `2 d`. */
export function duration(seconds: number): string {
  if (seconds < 120) return t('{n} s', { n: seconds })
  const days = Math.floor(seconds / 86_400)
  const hours = Math.floor((seconds % 86_400) / 3600)
  const minutes = Math.floor((seconds % 3600) / 60)
  const parts = [
    days && t('{n} d', { n: days }),
    hours && t('{n} h', { n: hours }),
    minutes && !days && t('{n} min', { n: minutes }),
  ].filter(Boolean)
  return parts.join(' ')
}

/** Reads what people type for a length of time: `900`, `90s`, `15m`, `1h30m`, `2 d`. Undefined when it means nothing. */
export function parseDuration(text: string): number | undefined {
  const clean = text.trim().toLowerCase()
  if (/^\d+$/.test(clean)) return Number(clean)
  if (!/^(\d+(\.\d+)?\s*(s|sec|m|min|h|d)\s*)+$/.test(clean)) return undefined
  const units: Record<string, number> = { s: 1, sec: 1, m: 60, min: 60, h: 3600, d: 86_400 }
  let total = 0
  for (const [, amount, , unit] of clean.matchAll(/(\d+(\.\d+)?)\s*(sec|min|s|m|h|d)/g)) {
    total += Number(amount) * (units[unit as string] ?? 0)
  }
  return Math.round(total)
}

// One for each zone: making one costs more than everything else about a card.
const wholes = new Map<string | undefined, Intl.DateTimeFormat>()

function whole(zone: string | undefined): Intl.DateTimeFormat {
  const known = wholes.get(zone)
  if (known) return known
  const made = new Intl.DateTimeFormat(locale(), {
    year: 'numeric',
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    timeZoneName: 'short',
    ...(zone ? { timeZone: zone } : {}),
  })
  wholes.set(zone, made)
  return made
}

/** The whole truth, for a tooltip: the moment in the zone that was chosen, and which zone that is. */
export function exact(at: string, zone: string | undefined = zoneChosen()): string {
  const date = new Date(at)
  return Number.isNaN(date.getTime()) ? at : whole(zone).format(date)
}

/** The time of day, where the reader is or wants to be. */
export function clock(at: number, zone: string | undefined = zoneChosen()): string {
  return new Intl.DateTimeFormat(locale(), {
    hour: '2-digit',
    minute: '2-digit',
    ...(zone ? { timeZone: zone } : {}),
  }).format(at)
}

/** The time of day to the second, on a clock of twenty-four hours, as logs have it. */
export function second(at: string, zone: string | undefined = zoneChosen()): string {
  const date = new Date(at)
  if (Number.isNaN(date.getTime())) return at
  return new Intl.DateTimeFormat('en-GB', {
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    ...(zone ? { timeZone: zone } : {}),
  }).format(date)
}

function two(value: number): string {
  return String(value).padStart(2, '0')
}
