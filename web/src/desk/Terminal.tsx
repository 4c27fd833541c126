/** A terminal at the desk. */
import { FitAddon } from '@xterm/addon-fit'
import { WebLinksAddon } from '@xterm/addon-web-links'
import { Terminal as Xterm } from '@xterm/xterm'
import '@xterm/xterm/css/xterm.css'
import { useEffect, useRef, useState } from 'react'
import { Button } from '../ui/Button'
import { useIsDark } from '../ui/theme'
import { t } from '../words/words'
import { Line, type LineState } from './line'

const WORDS: Record<LineState, string> = {
  connecting: t('Connecting…'),
  open: t('Connected'),
  broken: t('The line broke. Trying again…'),
  ended: t('The shell has ended'),
}

const LIGHT = {
  background: '#fdfbf5',
  foreground: '#2e2822',
  cursor: '#1f4d3c',
  selectionBackground: '#e8d9a8',
  black: '#2e2822',
  red: '#93302d',
  green: '#2c6a4f',
  yellow: '#8a6414',
  blue: '#3f5f86',
  magenta: '#7a4a6d',
  cyan: '#2f6b73',
  white: '#6f675c',
  brightBlack: '#6f675c',
  brightRed: '#93302d',
  brightGreen: '#2c6a4f',
  brightYellow: '#8a6414',
  brightBlue: '#3f5f86',
  brightMagenta: '#7a4a6d',
  brightCyan: '#2f6b73',
  brightWhite: '#2e2822',
}
const DARK = {
  background: '#1d1a16',
  foreground: '#ebe5d8',
  cursor: '#7fcfa6',
  selectionBackground: '#5a4d28',
  black: '#2a261f',
  red: '#e58e86',
  green: '#7fcfa6',
  yellow: '#dcb765',
  blue: '#97b6de',
  magenta: '#cf9fc4',
  cyan: '#8cc7cf',
  white: '#ebe5d8',
  brightBlack: '#9a9081',
  brightRed: '#f0a9a2',
  brightGreen: '#9fe0bf',
  brightYellow: '#ecd08c',
  brightBlue: '#b5cdec',
  brightMagenta: '#e0bcd8',
  brightCyan: '#abdce2',
  brightWhite: '#ffffff',
}

export function Terminal({ sandboxId, cwd }: { sandboxId: string; cwd?: string | undefined }) {
  const home = useRef<HTMLDivElement>(null)
  const screen = useRef<Xterm>(undefined)
  const [state, setState] = useState<LineState>('connecting')
  const [detail, setDetail] = useState<string>()
  const [round, setRound] = useState(0)
  const isDark = useIsDark()
  const colours = useRef(isDark)
  colours.current = isDark

  // biome-ignore lint/correctness/useExhaustiveDependencies: another round is another shell
  useEffect(() => {
    const element = home.current
    if (!element) return
    const xterm = new Xterm({
      fontFamily: '"Source Code Pro", ui-monospace, monospace',
      fontSize: 13,
      lineHeight: 1.25,
      cursorBlink: true,
      scrollback: 10_000,
      theme: colours.current ? DARK : LIGHT,
      screenReaderMode: true,
    })
    screen.current = xterm
    const fit = new FitAddon()
    xterm.loadAddon(fit)
    xterm.loadAddon(new WebLinksAddon())
    xterm.open(element)
    fit.fit()
    const line = new Line({
      sandboxId,
      cwd,
      size: () => ({ cols: xterm.cols, rows: xterm.rows }),
      onBytes: (bytes) => xterm.write(bytes),
      onState: (next, why) => {
        setState(next)
        setDetail(why)
      },
    })
    const typed = xterm.onData((text) => line.type(text))
    const sized = xterm.onResize(({ cols, rows }) => line.resize(cols, rows))
    // Ctrl+Shift+C copies, as in every terminal; Ctrl+C stays what it is for.
    xterm.attachCustomKeyEventHandler((event) => {
      if (event.type === 'keydown' && event.ctrlKey && event.shiftKey && event.code === 'KeyC') {
        void navigator.clipboard?.writeText(xterm.getSelection())
        event.preventDefault()
        return false
      }
      return true
    })
    const watch = new ResizeObserver(() => element.clientWidth > 0 && fit.fit())
    watch.observe(element)
    xterm.focus()
    return () => {
      watch.disconnect()
      typed.dispose()
      sized.dispose()
      line.close()
      xterm.dispose()
    }
  }, [sandboxId, cwd, round])

  useEffect(() => {
    if (screen.current) screen.current.options.theme = isDark ? DARK : LIGHT
  }, [isDark])

  return (
    <div
      className="flex min-h-0 flex-1 flex-col"
      style={{ background: isDark ? DARK.background : LIGHT.background }}
    >
      <div ref={home} data-terminal={state} className="min-h-64 flex-1 overflow-hidden p-3" />
      <p
        role="status"
        className="flex h-8 items-center gap-3 border-t border-line bg-paper px-3 text-small text-soft"
      >
        {WORDS[state]}
        {detail && <span className="text-faint">{detail}</span>}
        {state === 'ended' && (
          <Button tone="quiet" isSmall className="h-6!" onClick={() => setRound(round + 1)}>
            {t('Open another')}
          </Button>
        )}
      </p>
    </div>
  )
}
