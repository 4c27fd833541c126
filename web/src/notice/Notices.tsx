/** Tells a person who looks elsewhere that a card needs them. Only that: nothing else is worth an interruption. */
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { needsInWords } from '../task/phases'
import { tasks } from '../task/queries'
import { ring } from './bell'
import { isHandUp } from './useHandsUp'
import { currentWishes } from './wishes'

export function Notices() {
  const { data } = useQuery(tasks)
  const navigate = useNavigate()
  const known = useRef<Set<number> | undefined>(undefined)

  useEffect(() => {
    if (!data) return
    const raised = data.filter(isHandUp)
    badge(raised.length)
    const before = known.current
    known.current = new Set(raised.map((task) => task.id))
    // Hands that were up when the page was opened are on the board; they are no news.
    if (!before) return
    const fresh = raised.filter((task) => !before.has(task.id))
    if (fresh.length === 0) return
    const wishes = currentWishes()
    if (wishes.sound) ring()
    if (
      wishes.desktop &&
      document.hidden &&
      'Notification' in window &&
      Notification.permission === 'granted'
    ) {
      for (const task of fresh.slice(0, 3)) {
        const notice = new Notification(`task-${task.id} ${needsInWords(task)}`, {
          body: task.needs?.detail ?? task.title,
          tag: `carrel-task-${task.id}`,
          icon: `${import.meta.env.BASE_URL}mark.svg`,
        })
        notice.onclick = () => {
          window.focus()
          void navigate({ to: '/tasks/$id', params: { id: String(task.id) } })
          notice.close()
        }
      }
    }
  }, [data, navigate])

  useEffect(() => () => badge(0), [])
  return null
}

/** Puts the number of raised hands before the page's title, whatever that is and becomes. */
let hands = 0
let watching: MutationObserver | undefined

function badge(count: number): void {
  hands = count
  dress()
  watching ??= new MutationObserver(dress)
  watching.observe(document.head, { childList: true, subtree: true, characterData: true })
}

function dress(): void {
  const bare = document.title.replace(/^\(\d+\) /, '')
  const wanted = hands > 0 ? `(${hands}) ${bare}` : bare
  if (document.title !== wanted) document.title = wanted
}
