/** What a frame with a port of a sandbox tells the page around it. */

/** How far a frame came. */
export type FrameState =
  /** Nothing was heard of it yet. */
  | 'coming'
  /** It stands under its own name, and the browser keeps its pass. */
  | 'shown'
  /** It stands under its own name, but the browser keeps no cookie there. */
  | 'forgetful'
  /** The browser found nothing by that name. */
  | 'nameless'

/** Hears the threshold of a port: the page of ours that stands under its name first. */
export function heard(data: unknown): 'shown' | 'forgetful' | undefined {
  if (typeof data !== 'object' || data === null) return undefined
  const told = data as { carrel?: unknown; held?: unknown }
  if (told.carrel !== 'pass') return undefined
  return told.held === true ? 'shown' : 'forgetful'
}

/** A frame that has loaded something without a word from the threshold has not found the name. */
export const afterLoad = (state: FrameState): FrameState => (state === 'coming' ? 'nameless' : state)
