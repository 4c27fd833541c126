/** Pull requests, as the published language has them. */
import type { components } from '../api/schema'

type Schemas = components['schemas']

export type Pull = Schemas['PullView']
export type Check = Schemas['CheckView']
export type PullComment = Schemas['CommentView']
export type NewPullComment = Schemas['NewPullComment']
export type PullReview = Schemas['ReviewView']
export type NewPullReview = Schemas['NewPullReview']
export type Verdict = Schemas['Verdict']

/** Whether nothing more will happen to it, unless it is opened again. */
export const isPullOver = (pull: Pick<Pull, 'phase'>) => pull.phase === 'merged' || pull.phase === 'closed'
