/** What a command prints, as it prints it. A line that breaks is taken up at the byte where it broke. */
import { useEffect, useState } from 'react'
import { Stream, whileSeen } from '../api/stream'

export interface Piece {
  offset: number
  text?: string | null
  base64?: string | null
}

export interface Printed {
  text: string
  /** Nothing more will come. */
  isOver: boolean
  /** It printed more than is shown; this is the end of it. */
  isCut: boolean
}

/** So much of the end is shown: past that, a browser spends its time on text that nobody reads. */
const MOST = 200_000
/** What comes within this time is drawn together. */
const TOGETHER_MS = 24

/** Puts pieces together: each byte once, in order, and letters that were cut between two pieces made whole. */
export class Transcript {
  readonly #decoders = new Map<string, TextDecoder>()
  #next = 0
  #text = ''
  #isCut = false

  take(stream: string, piece: Piece): void {
    const bytes = bytesOf(piece)
    // A piece that was told before is skipped, as far as it was told.
    const known = Math.max(0, this.#next - piece.offset)
    if (known >= bytes.length) return
    this.#next = piece.offset + bytes.length
    let decoder = this.#decoders.get(stream)
    if (!decoder) {
      decoder = new TextDecoder()
      this.#decoders.set(stream, decoder)
    }
    this.#text += decoder.decode(bytes.subarray(known), { stream: true })
    if (this.#text.length > MOST * 1.25) {
      this.#text = this.#text.slice(-MOST)
      this.#isCut = true
    }
  }

  get text(): string {
    return plain(this.#text)
  }

  get isCut(): boolean {
    return this.#isCut
  }
}

function bytesOf({ text, base64 }: Piece): Uint8Array {
  if (text != null) return new TextEncoder().encode(text)
  return Uint8Array.from(atob(base64 ?? ''), (letter) => letter.charCodeAt(0))
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours and titles for terminals begin with one
const FOR_TERMINALS = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g

/** Without what only a terminal understands; a line that was written over is shown as it was at last. */
export function plain(text: string): string {
  const bare = text.replace(FOR_TERMINALS, '').replaceAll('\r\n', '\n')
  if (!bare.includes('\r')) return bare
  return bare
    .split('\n')
    .map((line) => line.slice(line.lastIndexOf('\r', line.length - 2) + 1))
    .join('\n')
}

/** Follows what an exec prints, from its first byte. */
export const useOutput = (sandboxId: string, execId: string, isWanted: boolean): Printed | undefined =>
  usePrinted(
    `/api/v1/sandboxes/${encodeURIComponent(sandboxId)}/execs/${encodeURIComponent(execId)}/output`,
    isWanted,
  )

/** Follows what stands at an address of something that prints, from its first byte. */
export function usePrinted(address: string, isWanted: boolean): Printed | undefined {
  const [printed, setPrinted] = useState<Printed>()
  useEffect(() => {
    if (!isWanted) return
    const transcript = new Transcript()
    let timer: ReturnType<typeof setTimeout> | undefined
    let isOver = false
    const draw = () => {
      timer = undefined
      setPrinted({ text: transcript.text, isCut: transcript.isCut, isOver })
    }
    const soon = () => {
      timer ??= setTimeout(draw, TOGETHER_MS)
    }
    const stream = new Stream({
      address,
      place: 'offset',
      after: '0',
      kinds: ['stdout', 'stderr', 'carrel', 'end'],
      onEntry: (data, kind) => {
        if (kind === 'end') {
          isOver = true
          stream.close()
        } else transcript.take(kind, JSON.parse(data) as Piece)
        soon()
      },
      onReset: () => {},
    })
    const stop = whileSeen(stream)
    return () => {
      clearTimeout(timer)
      stop()
    }
  }, [address, isWanted])
  return printed
}
