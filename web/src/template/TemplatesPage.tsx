/** What sandboxes start from. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Boxes, Plus, RefreshCw, ScrollText, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { api, ask } from '../api/client'
import { beside, fieldsOf, say } from '../api/problem'
import { keys, templates } from '../api/queries'
import type { NewTemplate, TemplateView } from '../api/types'
import { usePrinted } from '../desk/output'
import { Button, IconButton } from '../ui/Button'
import { Confirm } from '../ui/Confirm'
import { Dialog, DialogBody } from '../ui/Dialog'
import { DialogForm } from '../ui/DialogForm'
import { Field, Input, inputLook, Select } from '../ui/Field'
import { Ago } from '../ui/Moments'
import { bytes } from '../ui/money'
import { Chip, Empty, PageHead, Skeleton, Trouble } from '../ui/Small'
import { toast } from '../ui/Toast'
import { worded } from '../words/enums'
import { t, tn } from '../words/words'
import { askedAgain } from './again'

export function TemplatesPage() {
  const list = useQuery(templates)
  const [isMaking, setMaking] = useState(false)
  return (
    <>
      <title>{t('Templates · Carrel')}</title>
      <PageHead
        title={t('Templates')}
        lead={t('What a sandbox starts from: an image, a small Debian, a recipe of your own.')}
      >
        <Button tone="primary" icon={<Plus />} onClick={() => setMaking(true)}>
          {t('New template')}
        </Button>
      </PageHead>
      {list.isPending && <Skeleton className="h-32 rounded-2xl" />}
      {list.isError && !list.data && (
        <Trouble title={t('The templates could not be listed')} detail={say(list.error)} />
      )}
      {list.data?.length === 0 && (
        <Empty title={t('No templates')}>
          <p>{t('The provider brought none along, and none was made yet.')}</p>
        </Empty>
      )}
      {list.data && list.data.length > 0 && (
        <ul
          aria-label={t('Templates')}
          className="divide-y divide-line rounded-2xl border border-line bg-card shadow-card"
        >
          {list.data.map((template) => (
            <TemplateRow key={`${template.provider}/${template.name}`} template={template} />
          ))}
        </ul>
      )}
      <Dialog
        isOpen={isMaking}
        onClose={() => setMaking(false)}
        title={t('New template')}
        lead={t('Made once, in the background; every sandbox after that starts from it in milliseconds.')}
      >
        <TemplateForm onDone={() => setMaking(false)} />
      </Dialog>
    </>
  )
}

function TemplateRow({ template }: { template: TemplateView }) {
  const cache = useQueryClient()
  const remove = useMutation({
    mutationFn: () =>
      ask(api.DELETE('/api/v1/templates/{name}', { params: { path: { name: template.name } } })),
    onSuccess: () => cache.invalidateQueries({ queryKey: keys.templates }),
    onError: (error) => toast(t('{name} was not removed', { name: template.name }), say(error), 'bad'),
  })
  const body = askedAgain(template)
  const again = useMutation({
    mutationFn: (wanted: NewTemplate) => ask(api.POST('/api/v1/templates', { body: wanted })),
    onSuccess: () => cache.invalidateQueries({ queryKey: keys.templates }),
    onError: (error) => toast(t('{name} was not made again', { name: template.name }), say(error), 'bad'),
  })
  const [isReading, setReading] = useState(false)
  return (
    <li data-template={template.name} className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-3">
      <Boxes aria-hidden className="size-4 text-brass" />
      <div className="min-w-0 flex-1 max-sm:basis-[calc(100%-4rem)]">
        <p className="font-medium">{template.name}</p>
        <p className="text-small text-soft wrap-anywhere">
          {template.note ??
            template.origin ??
            t('Brought along by {provider}.', { provider: template.provider })}
        </p>
      </div>
      <span className="text-small text-faint">
        {[
          template.provider,
          template.bytes != null && bytes(template.bytes),
          template.layers != null && tn(template.layers, '{n} layer', '{n} layers'),
        ]
          .filter(Boolean)
          .join(' · ')}
      </span>
      {template.ready_at && (
        <span className="text-small text-faint">
          <Ago at={template.ready_at} />
        </span>
      )}
      <Chip tone={template.phase === 'ready' ? 'lamp' : template.phase === 'failed' ? 'bad' : 'brass'}>
        {worded(template.phase)}
      </Chip>
      {template.created_by != null && (
        <IconButton
          label={t('How {name} was made', { name: template.name })}
          className="max-sm:ml-auto"
          onClick={() => setReading(true)}
        >
          <ScrollText />
        </IconButton>
      )}
      {body && (
        <Confirm
          title={t('Make {name} again?', { name: template.name })}
          detail={t(
            'It is made anew from the same wish, and takes the place of this one. Sandboxes that live on it are not disturbed.',
          )}
          act={t('Make again')}
          onConfirm={() => again.mutate(body)}
        >
          <IconButton label={t('Make {name} again', { name: template.name })}>
            <RefreshCw />
          </IconButton>
        </Confirm>
      )}
      {template.created_by != null && (
        <Confirm
          title={t('Remove {name}?', { name: template.name })}
          detail={t('Sandboxes that live on it are not disturbed.')}
          act={t('Remove')}
          onConfirm={() => remove.mutate()}
        >
          <IconButton label={t('Remove {name}', { name: template.name })}>
            <Trash2 />
          </IconButton>
        </Confirm>
      )}
      <Dialog
        isOpen={isReading}
        onClose={() => setReading(false)}
        title={t('How {name} was made', { name: template.name })}
      >
        <MakingLog key={template.revision} name={template.name} />
      </Dialog>
    </li>
  )
}

/** What was printed while it was made, as it is printed. */
function MakingLog({ name }: { name: string }) {
  const printed = usePrinted(`/api/v1/templates/${encodeURIComponent(name)}/log`, true)
  return (
    <DialogBody>
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        role="log"
        aria-label={t('Log')}
        className="max-h-[55vh] min-h-24 overflow-auto rounded-lg bg-well p-3 font-mono text-small whitespace-pre-wrap wrap-anywhere"
      >
        {printed?.text || (printed?.isOver ? t('It printed nothing.') : '…')}
      </pre>
    </DialogBody>
  )
}

type Kind = 'image' | 'debian' | 'recipe'

function TemplateForm({ onDone }: { onDone(): void }) {
  const cache = useQueryClient()
  const [name, setName] = useState('')
  const [kind, setKind] = useState<Kind>('image')
  const [what, setWhat] = useState('')
  const make = useMutation({
    mutationFn: (body: NewTemplate) => ask(api.POST('/api/v1/templates', { body })),
    onSuccess: () => {
      void cache.invalidateQueries({ queryKey: keys.templates })
      onDone()
    },
  })
  const fields = fieldsOf(make.error)
  const submit = () => {
    const text = what.trim()
    make.mutate({
      name: name.trim(),
      from: kind,
      ...(kind === 'image' ? { reference: text } : {}),
      ...(kind === 'recipe' ? { recipe: text } : {}),
      ...(kind === 'debian' ? { packages: text.split(/[\s,]+/).filter(Boolean) } : {}),
    } as NewTemplate)
  }
  const words = {
    image: [t('Image'), 'docker.io/library/node:22'],
    debian: [t('Packages'), 'git build-essential python3'],
    recipe: [t('Recipe'), 'FROM debian:bookworm\nRUN apt-get update && apt-get install -y git'],
  }[kind]
  return (
    <DialogForm
      act={t('Make template')}
      failed={t('The template was not made')}
      why={beside(make.error, ['name', 'from', 'reference', 'recipe', 'packages'])}
      isBusy={make.isPending}
      canAct={Boolean(name.trim())}
      onAct={submit}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label={t('Name')} error={fields.name}>
          {(wiring) => (
            <Input {...wiring} autoFocus value={name} onChange={(event) => setName(event.target.value)} />
          )}
        </Field>
        <Field label={t('Made from')} error={fields.from}>
          {(wiring) => (
            <Select {...wiring} value={kind} onChange={(event) => setKind(event.target.value as Kind)}>
              <option value="image">{t('an image of a registry')}</option>
              <option value="debian">{t('a small Debian')}</option>
              <option value="recipe">{t('a recipe (Dockerfile)')}</option>
            </Select>
          )}
        </Field>
        <Field
          label={words[0] as string}
          error={fields.reference ?? fields.recipe ?? fields.packages}
          className="sm:col-span-2"
        >
          {(wiring) => (
            <textarea
              {...wiring}
              rows={kind === 'recipe' ? 8 : 2}
              placeholder={words[1]}
              value={what}
              onChange={(event) => setWhat(event.target.value)}
              className={`${inputLook} h-auto py-2 font-mono text-small`}
            />
          )}
        </Field>
      </div>
    </DialogForm>
  )
}
