/** Words of people and agents, as Markdown. Nothing in them can become part of this page: no HTML, no images from elsewhere. */
import { memo } from 'react'
import Markdown from 'react-markdown'
import gfm from 'remark-gfm'
import { t } from '../words/words'

const PLUGINS = [gfm]

export const Prose = memo(function Prose({ text }: { text: string }) {
  return (
    <div className="prose-carrel wrap-anywhere">
      <Markdown
        remarkPlugins={PLUGINS}
        components={{
          a: ({ children, href }) => (
            <a
              href={href}
              target="_blank"
              rel="noreferrer"
              className="text-lamp underline underline-offset-4"
            >
              {children}
            </a>
          ),
          // An image would be fetched from wherever the agent says. Its name is enough.
          img: ({ alt }) => <span className="text-faint">[{alt || t('image')}]</span>,
          h1: ({ children }) => <p className="font-serif text-lead font-semibold">{children}</p>,
          h2: ({ children }) => <p className="font-serif text-lead font-semibold">{children}</p>,
          h3: ({ children }) => <p className="font-serif font-semibold">{children}</p>,
        }}
      >
        {text}
      </Markdown>
    </div>
  )
})
