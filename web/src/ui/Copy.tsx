import { Check, Copy as CopyIcon } from 'lucide-react'
import { useEffect, useState } from 'react'
import { t } from '../words/words'
import { IconButton } from './Button'

/** Copies a text, and says that it did. */
export function Copy({ text, label, className }: { text: string; label: string; className?: string }) {
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    if (!copied) return
    const timer = setTimeout(() => setCopied(false), 1_600)
    return () => clearTimeout(timer)
  }, [copied])
  return (
    <IconButton
      label={copied ? t('Copied') : label}
      className={className}
      onClick={() => void write(text).then(setCopied)}
    >
      {copied ? <Check className="text-lamp" /> : <CopyIcon />}
    </IconButton>
  )
}

/** The clipboard needs https or localhost; a Carrel on the local network has neither, and must copy all the same. */
async function write(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const area = document.createElement('textarea')
    area.value = text
    area.style.position = 'fixed'
    area.style.opacity = '0'
    const home = document.querySelector('[role="dialog"]') ?? document.body
    home.append(area)
    area.select()
    const done = document.execCommand('copy')
    area.remove()
    return done
  }
}
