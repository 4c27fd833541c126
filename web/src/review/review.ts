/** A review in progress: comments on lines, collected until they are sent in one message; and what was read before. */
import { useCallback, useSyncExternalStore } from 'react'

export type Side = 'additions' | 'deletions'

export interface Comment {
  id: string
  path: string
  side: Side
  line: number
  /** The line as it was when the comment was written. */
  code: string
  text: string
  /** The head it was sent at; a draft has none. */
  sentAt?: string
  /** It stands at the pull request too. */
  isPosted?: true
  /** Its line is one of a version between the base and the head: no forge knows its number. */
  isBetween?: true
}

export interface Review {
  comments: readonly Comment[]
  /** What the diff of each file was when it was last read, by a short sum. */
  read: Readonly<Record<string, string>>
  /** The checkpoint at which the whole of it was last read. */
  at?: number | undefined
}

/** Whose work is reviewed: a task by its number, a session by its name. */
export type Reviewed = number | string

const BLANK: Review = { comments: [], read: {} }
const name = (of: Reviewed) => `carrel.review.${of}`
const held = new Map<Reviewed, Review>()
const watchers = new Set<() => void>()

function load(of: Reviewed): Review {
  const known = held.get(of)
  if (known) return known
  let review = BLANK
  try {
    const kept = JSON.parse(localStorage.getItem(name(of)) ?? 'null') as Partial<Review> | null
    if (kept) review = { comments: kept.comments ?? [], read: kept.read ?? {}, at: kept.at }
  } catch {
    // Nothing was kept, or it cannot be understood any more.
  }
  held.set(of, review)
  return review
}

/** A draft must survive a reload, and an address is no place for it: it is kept in this browser. */
export function useReview(of: Reviewed): [Review, (change: (now: Review) => Review) => void] {
  const review = useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher)
      return () => watchers.delete(watcher)
    },
    () => load(of),
  )
  const change = useCallback(
    (act: (now: Review) => Review) => {
      const next = act(load(of))
      held.set(of, next)
      try {
        localStorage.setItem(name(of), JSON.stringify(next))
      } catch {
        // Without storage the review lasts as long as the page.
      }
      for (const watcher of watchers) watcher()
    },
    [of],
  )
  return [review, change]
}

export const drafts = (review: Review) => review.comments.filter((it) => it.sentAt === undefined)

export type CommentState = 'draft' | 'sent' | 'addressed'

/** Where a comment stands: one that was sent is addressed when the line it speaks of has changed since. */
export function stateOf(
  comment: Comment,
  lineNow: string | undefined,
  head: string | undefined,
): CommentState {
  if (comment.sentAt === undefined) return 'draft'
  if (comment.sentAt === head) return 'sent'
  return lineNow === undefined || lineNow.trim() !== comment.code.trim() ? 'addressed' : 'sent'
}

/** All drafts as one message to the agent, each with the line it speaks of. */
export function inOneMessage(comments: readonly Comment[], branch: string): string {
  const points = comments.map((comment, at) => {
    const where = `${comment.path}:${comment.line}${comment.side === 'deletions' ? ' (removed)' : ''}`
    return `${at + 1}. \`${where}\`\n   > ${comment.code.trim().slice(0, 200)}\n\n   ${comment.text.trim().replaceAll('\n', '\n   ')}`
  })
  const many = comments.length === 1 ? 'one comment' : `${comments.length} comments`
  // In English whatever the page speaks: it is read by an agent.
  return `Review of ${branch}: ${many}. Please address each of them, or say why not.\n\n${points.join('\n\n')}`
}

/** A short sum of a text (FNV-1a), to know it again. */
export function sum(text: string): string {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) {
    hash ^= text.charCodeAt(at)
    hash = Math.imul(hash, 0x01000193)
  }
  return (hash >>> 0).toString(36)
}

/** What package managers write: `Cargo.lock`, `package-lock.json`, `go.sum`, … */
const LOCKS =
  /(^|\/)([^/]+\.lock|[^/]*\.lock\.(json|hcl)|package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|packages\.lock\.json|gradle\.lockfile|bun\.lockb|go\.sum|Package\.resolved)$/
/** What other programs write, by where it lies or how it is called. */
const WRITTEN =
  /(^|\/)(dist|vendor|node_modules|generated|__generated__|__snapshots__)\/|(^|\/)zz_generated[^/]*$|[^/][._](generated|gen|g|freezed|pb|designer)\.[a-z]+$|\.(min\.(js|css)|snap|map|pb\.go|pbxproj)$|_pb2(_grpc)?\.pyi?$/i

/** Files that people do not read line by line: locks, and what programs wrote. */
export const isFolded = (path: string) => LOCKS.test(path) || WRITTEN.test(path)
/** Past this many lines a file waits until it is wanted. */
export const MANY_LINES = 600
