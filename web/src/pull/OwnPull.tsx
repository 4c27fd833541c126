/** A pull that no task opened: somebody pushed a branch and asked for it to be merged. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ArrowRight, ChevronRight, Ellipsis, ExternalLink, MessageSquareText } from 'lucide-react'
import { DropdownMenu } from 'radix-ui'
import { useState } from 'react'
import { say } from '../api/problem'
import { ChecksShown } from '../review/Checks'
import { type Gate, usePullGate } from '../review/gate'
import { JudgeDialog } from '../review/JudgeDialog'
import { fromOthers, mirrorAt } from '../review/mirror'
import { Reading } from '../review/Reading'
import { isElsewhere, Said } from '../review/Said'
import { Prose } from '../talk/Prose'
import { askFirst } from '../ui/Ask'
import { Button, IconButton } from '../ui/Button'
import { Copy } from '../ui/Copy'
import { cx } from '../ui/cx'
import { Ago } from '../ui/Moments'
import { menuItem, menuLook } from '../ui/menu'
import { Chip } from '../ui/Small'
import { toast } from '../ui/Toast'
import { worded } from '../words/enums'
import { rich, t } from '../words/words'
import { putPull } from './fold'
import { change, checks, comments, diffOf, merge, type PullVerb, reviews } from './queries'
import { isPullOver, type Pull } from './types'

export function OwnPull({ pull }: { pull: Pull }) {
  const { repo, number } = pull
  const cache = useQueryClient()
  const found = useQuery(checks(repo, number)).data ?? []
  const said = useQuery(comments(repo, number)).data ?? []
  const verdicts = useQuery(reviews(repo, number)).data ?? []
  const blocked = usePullGate(pull, found)
  const [isJudging, setJudging] = useState(false)
  return (
    <>
      <title>{t('#{number} {title} · Carrel', { number, title: pull.title })}</title>
      <TopBar pull={pull} blocked={blocked} />
      <About pull={pull} />
      <div className="flex min-h-0 flex-1 flex-col border-t border-line">
        <Reading
          of={`pull.${repo}.${number}`}
          branch={pull.head}
          head={pull.head_commit}
          isBusy={false}
          moments={undefined}
          diffOf={() => diffOf(pull)}
          onAll={() => undefined}
          onMirror={async (comment) => {
            await mirrorAt(repo, number, comment)
            await cache.invalidateQueries({ queryKey: comments(repo, number).queryKey })
          }}
          remarks={(own) => fromOthers(said, 'pull', own)}
          above={(whole) => (
            <>
              <ChecksShown checks={found} blocked={undefined} />
              <Said remarks={whole} reviews={verdicts} />
              <JudgeDialog
                repo={repo}
                number={number}
                hasAgent={false}
                isOpen={isJudging}
                onClose={() => setJudging(false)}
              />
            </>
          )}
          corner={
            !isPullOver(pull) && (
              <Button data-judge isSmall icon={<MessageSquareText />} onClick={() => setJudging(true)}>
                {t('Review')}
              </Button>
            )
          }
        />
      </div>
    </>
  )
}

function TopBar({ pull, blocked }: { pull: Pull; blocked: Gate | undefined }) {
  const cache = useQueryClient()
  const name = `#${pull.number}`
  const merging = useMutation({
    mutationFn: () => merge(pull),
    onSuccess: (merged) => {
      putPull(cache, merged)
      toast(t('{name} is in {base}', { name, base: pull.base }))
    },
    onError: (error) => toast(t('{name} was not merged', { name }), say(error), 'bad'),
  })
  const changing = useMutation({
    mutationFn: (verb: PullVerb) => change(pull, verb),
    onSuccess: (changed) => putPull(cache, changed),
    onError: (error) => toast(t('{name} was not changed', { name }), say(error), 'bad'),
  })
  const askToMerge = async () => {
    const isWanted = await askFirst({
      title: t('Merge {name} into {base}?', { name, base: pull.base }),
      detail: t('It goes through the lane: checked on the merged result, then merged.'),
      act: t('Merge'),
    })
    if (isWanted) merging.mutate()
  }
  const isOver = isPullOver(pull)
  const verbs: { verb: PullVerb; word: string }[] = [
    ...(isOver
      ? []
      : [
          pull.draft
            ? ({ verb: 'ready', word: t('Ready for review') } as const)
            : ({ verb: 'draft', word: t('Make it a draft') } as const),
          { verb: 'close', word: t('Close') } as const,
        ]),
    ...(pull.phase === 'closed' ? [{ verb: 'reopen', word: t('Open again') } as const] : []),
  ]
  return (
    <header className="shrink-0 px-4 pt-3 pb-3 md:px-5">
      <p className="flex flex-wrap items-center gap-x-2 gap-y-1 text-small text-soft">
        <Link
          to="/repos/$name"
          params={{ name: pull.repo }}
          className="underline-offset-4 hover:text-ink hover:underline"
        >
          {pull.repo}
        </Link>
        <span aria-hidden>›</span>
        <span className="font-mono text-ink wrap-anywhere">{pull.head}</span>
        <ArrowRight aria-label={t('into')} className="size-3.5" />
        <span className="font-mono wrap-anywhere">{pull.base}</span>
        <span className="ml-auto">
          {rich('{author} opened it {ago}.', {
            author: <span className="font-medium text-ink">{pull.author}</span>,
            ago: <Ago at={pull.created_at} />,
          })}
        </span>
      </p>
      <div className="mt-1.5 flex flex-wrap items-center gap-x-3 gap-y-2">
        <h1 className="min-w-0 flex-1 basis-64 text-title leading-7 wrap-anywhere">
          {pull.title} <span className="font-sans font-normal text-faint">{name}</span>
        </h1>
        {pull.draft && <Chip>{t('draft')}</Chip>}
        <Chip tone={pull.phase === 'conflicted' ? 'bad' : pull.phase === 'closed' ? 'plain' : 'lamp'}>
          <span data-pull={pull.phase}>{worded(pull.phase)}</span>
        </Chip>
        {isElsewhere(pull.url) && (
          <a
            href={pull.url}
            target="_blank"
            rel="noreferrer"
            className="inline-flex items-center gap-1.5 text-soft underline-offset-4 hover:text-ink hover:underline"
          >
            {worded(pull.forge)}
            <ExternalLink aria-hidden className="size-3" />
          </a>
        )}
        {!isOver && (
          <Button
            tone="primary"
            isBusy={merging.isPending}
            disabled={Boolean(blocked?.isShut)}
            title={blocked?.words}
            onClick={() => void askToMerge()}
          >
            {t('Merge')}
          </Button>
        )}
        {verbs.length > 0 && (
          <DropdownMenu.Root modal={false}>
            <DropdownMenu.Trigger asChild>
              <IconButton label={t('More verbs')}>
                <Ellipsis />
              </IconButton>
            </DropdownMenu.Trigger>
            <DropdownMenu.Portal>
              <DropdownMenu.Content align="end" sideOffset={6} className={menuLook}>
                {verbs.map(({ verb, word }) => (
                  <DropdownMenu.Item
                    key={verb}
                    className={cx(menuItem, verb === 'close' && 'text-oxblood')}
                    onSelect={() => changing.mutate(verb)}
                  >
                    {word}
                  </DropdownMenu.Item>
                ))}
              </DropdownMenu.Content>
            </DropdownMenu.Portal>
          </DropdownMenu.Root>
        )}
      </div>
      {blocked && <p className="mt-1.5 text-small text-brass">{blocked.words}</p>}
    </header>
  )
}

/** What was written about it, and how to have it in a working tree. */
function About({ pull }: { pull: Pull }) {
  const [isOpen, setOpen] = useState(Boolean(pull.body))
  const fetch = `git fetch ${window.location.origin}/git/${pull.repo}.git ${pull.head}`
  return (
    <section aria-label={t('About it')} className="shrink-0 border-t border-line bg-paper text-small">
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
        className="flex w-full items-center gap-1.5 px-4 py-2 text-left text-soft hover:text-ink md:px-5"
      >
        <ChevronRight aria-hidden className={cx('size-3.5 transition-transform', isOpen && 'rotate-90')} />
        {t('About it')}
      </button>
      {isOpen && (
        <div className="max-h-[30vh] space-y-2 overflow-y-auto px-4 pb-3 md:px-5">
          {pull.body ? (
            <Prose text={pull.body} />
          ) : (
            <p className="text-soft">{t('Nothing was written about it.')}</p>
          )}
          <p className="flex items-center gap-1">
            <code className="min-w-0 truncate font-mono text-small text-soft">{fetch}</code>
            <Copy text={fetch} label={t('Copy the command')} className="-my-2" />
          </p>
        </div>
      )}
    </section>
  )
}
