/** Comments of a review, put where the pull lives too. A stamp makes each of them one, and tells the house that its agent knows of it. */
import { Refusal } from '../api/problem'
import { comment as post } from '../pull/queries'
import type { NewPullComment, PullComment } from '../pull/types'
import type { Task } from '../task/types'
import type { Comment, Side } from './review'

/** Of a task by its number; of a pull that is no task's, `pull`. */
export type StampedBy = number | 'pull'

export const stampOf = (task: StampedBy, id: string) => `review.${task}.${id}`

export function asRemark(task: StampedBy, comment: Comment): NewPullComment {
  return {
    body: comment.text,
    path: comment.path,
    line: comment.line,
    side: comment.side === 'deletions' ? 'old' : 'new',
    stamp: stampOf(task, comment.id),
  }
}

/** Posts a comment at the task's pull. A line that the forge does not find in its diff is named in words. */
export async function mirror(task: Task, comment: Comment): Promise<void> {
  if (task.pull) await putAt(task.repo, task.pull.number, asRemark(task.id, comment), comment)
}

/** The same at a pull that is no task's. */
export const mirrorAt = (repo: string, number: number, comment: Comment) =>
  putAt(repo, number, asRemark('pull', comment), comment)

async function putAt(repo: string, number: number, remark: NewPullComment, comment: Comment): Promise<void> {
  const inWords = ({ body, stamp }: NewPullComment) =>
    post(repo, number, {
      body: `\`${comment.path}:${comment.line}\`\n\n${body}`,
      ...(stamp ? { stamp } : {}),
    })
  if (comment.isBetween) {
    await inWords(remark)
    return
  }
  try {
    await post(repo, number, remark)
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 422) throw error
    await inWords(remark)
  }
}

/** What others said, here or at the forge: everything but the comments that this browser shows as its own. */
export function fromOthers(
  remarks: readonly PullComment[],
  task: StampedBy,
  own: readonly Comment[],
): PullComment[] {
  const known = new Set(own.map((it) => stampOf(task, it.id)))
  return remarks.filter((it) => !it.stamp || !known.has(it.stamp))
}

export const sideOf = (remark: PullComment): Side => (remark.side === 'old' ? 'deletions' : 'additions')
