/** Single keys that act on the page, out of the way of anyone typing. */
import { useEffect, useRef } from 'react'

export type Shortcuts = Record<string, (event: KeyboardEvent) => void>

/** Listens while mounted. Keys with modifiers belong to the browser, keys in fields to the field, keys in dialogs to the dialog. */
export function useShortcuts(shortcuts: Shortcuts): void {
  const held = useRef(shortcuts)
  held.current = shortcuts
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (!isFree(event)) return
      const act = Object.hasOwn(held.current, event.key) ? held.current[event.key] : undefined
      act?.(event)
    }
    document.addEventListener('keydown', listen)
    return () => document.removeEventListener('keydown', listen)
  }, [])
}

/** Whether a key is nobody else's: no modifier, no dialog, no menu, no field that is being typed into. */
export function isFree(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return false
  const target = event.target instanceof Element ? event.target : undefined
  if (target?.closest('[role="dialog"], [role="alertdialog"], [role="menu"], textarea, select')) return false
  const isTyping = target?.matches('input:not([type="radio"]):not([type="checkbox"]), [contenteditable]')
  return !isTyping || event.key === 'Escape' || event.key === 'ArrowDown'
}
