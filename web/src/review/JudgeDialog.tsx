/** A verdict on the whole pull: said where it lives, and counted by the rules of the repository. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { beside, fieldsOf } from '../api/problem'
import { pullKey } from '../pull/fold'
import { judge } from '../pull/queries'
import type { Verdict } from '../pull/types'
import { Dialog } from '../ui/Dialog'
import { DialogForm } from '../ui/DialogForm'
import { Field, inputLook } from '../ui/Field'
import { Segments } from '../ui/Segments'
import { toast } from '../ui/Toast'
import { t } from '../words/words'

type Given = Exclude<Verdict, 'dismissed'>

interface Words {
  word: string
  hint: string
  act: string
  done: string
}

const WORDS: Record<Given, Words> = {
  approved: {
    word: t('Approve'),
    hint: t('Counts for the head as it is now. What is pushed later wants another look.'),
    act: t('Approve'),
    done: t('Approved'),
  },
  changes_requested: {
    word: t('Ask for changes'),
    hint: t('The agent goes on with it. Nothing is merged until you approve.'),
    act: t('Ask for changes'),
    done: t('The agent is asked for changes'),
  },
  commented: {
    word: t('Comment'),
    hint: t('The agent hears of it. It counts neither for nor against.'),
    act: t('Comment'),
    done: t('Said'),
  },
}

/** Where no agent works at it, nobody goes on by themselves. */
const WITHOUT_AGENT: Record<Given, Words> = {
  ...WORDS,
  changes_requested: {
    ...WORDS.changes_requested,
    hint: t('Nothing is merged until you approve.'),
    done: t('Changes are asked for'),
  },
  commented: { ...WORDS.commented, hint: t('It counts neither for nor against.') },
}

interface Judged {
  repo: string
  number: number
  /** Whether an agent hears of it. */
  hasAgent: boolean
}

export function JudgeDialog({ isOpen, onClose, ...judged }: Judged & { isOpen: boolean; onClose(): void }) {
  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title={t('Review #{number}', { number: judged.number })}
      lead={t('Said where the pull request lives, for everybody who looks there.')}
    >
      <JudgeForm {...judged} onDone={onClose} />
    </Dialog>
  )
}

function JudgeForm({ repo, number, hasAgent, onDone }: Judged & { onDone(): void }) {
  const words = hasAgent ? WORDS : WITHOUT_AGENT
  const cache = useQueryClient()
  const [verdict, setVerdict] = useState<Given>('approved')
  const [text, setText] = useState('')
  const give = useMutation({
    mutationFn: () => judge(repo, number, { verdict, body: text.trim() }),
    onSuccess: () => {
      void cache.invalidateQueries({ queryKey: pullKey(repo, number) })
      toast(words[verdict].done)
      onDone()
    },
  })
  const fields = fieldsOf(give.error)
  return (
    <DialogForm
      act={words[verdict].act}
      failed={t('The review was not given')}
      why={beside(give.error, ['body'])}
      isBusy={give.isPending}
      canAct={verdict === 'approved' || Boolean(text.trim())}
      onAct={() => give.mutate()}
    >
      <div className="space-y-4">
        <div className="w-fit max-w-full">
          <Segments<Given>
            label={t('Verdict')}
            value={verdict}
            options={(Object.keys(words) as Given[]).map((value) => ({ value, label: words[value].word }))}
            onChange={setVerdict}
          />
        </div>
        <Field label={t('In words')} error={fields.body} hint={words[verdict].hint}>
          {(wiring) => (
            <textarea
              {...wiring}
              rows={4}
              placeholder={
                verdict === 'approved' ? t('Nothing need be said.') : t('What should be different?')
              }
              value={text}
              onChange={(event) => setText(event.target.value)}
              className={`${inputLook} h-auto py-2 leading-6`}
            />
          )}
        </Field>
      </div>
    </DialogForm>
  )
}
