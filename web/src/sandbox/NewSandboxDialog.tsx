import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { ChevronRight, Plus, X } from 'lucide-react'
import { type FormEvent, useId, useRef, useState } from 'react'
import { api, ask, attemptKey } from '../api/client'
import { putSandbox } from '../api/fold'
import { Refusal, say } from '../api/problem'
import { providers } from '../api/queries'
import type { NewSandbox } from '../api/types'
import { Button, IconButton } from '../ui/Button'
import { Dialog, DialogBody, DialogFoot } from '../ui/Dialog'
import { Field, Input, Select } from '../ui/Field'
import { Kbd, Trouble } from '../ui/Small'
import { Switch } from '../ui/Switch'
import { rich, t } from '../words/words'
import { BLANK, type FieldErrors, type Form, homeless, isUnderMore, type Pair, place, read } from './form'

/** A new sandbox. Everything has a default, so the first view is one button. */
export function NewSandboxDialog({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title={t('New sandbox')}
      lead={t('A private desk. Every field has a sensible answer already.')}
    >
      <NewSandboxForm onDone={onClose} />
    </Dialog>
  )
}

function NewSandboxForm({ onDone }: { onDone(): void }) {
  const cache = useQueryClient()
  const places = useQuery(providers)
  const [form, setForm] = useState<Form>(BLANK)
  const [errors, setErrors] = useState<FieldErrors>({})
  const [isMore, setMore] = useState(false)
  const more = useId()
  const templates = useId()
  // The same wish sent twice is one sandbox: the key changes only with the body.
  const attempt = useRef({ wish: '', key: '' })

  const create = useMutation({
    mutationFn: (body: NewSandbox) => {
      const wish = JSON.stringify(body)
      if (attempt.current.wish !== wish) attempt.current = { wish, key: attemptKey() }
      return ask(api.POST('/api/v1/sandboxes', { headers: { 'Idempotency-Key': attempt.current.key }, body }))
    },
    onSuccess: (sandbox) => {
      putSandbox(cache, sandbox)
      onDone()
    },
    onError: (error) => error instanceof Refusal && show(place(error.fields)),
  })

  const show = (next: FieldErrors) => {
    setErrors(next)
    if (Object.keys(next).some(isUnderMore)) setMore(true)
  }

  const submit = (event?: FormEvent) => {
    event?.preventDefault()
    const { body, errors: wrong } = read(form)
    show(wrong)
    if (Object.keys(wrong).length === 0 && !create.isPending) create.mutate(body)
  }

  const set = <Name extends keyof Form>(name: Name, value: Form[Name]) =>
    setForm((now) => ({ ...now, [name]: value }))
  const text = (name: 'template' | 'lifetime' | 'cpus' | 'memory_mb' | 'disk_mb' | 'pids' | 'allow') => ({
    value: form[name],
    onChange: (event: { target: { value: string } }) => set(name, event.target.value),
  })
  // An error whose field is spelled in a way this form does not know must still be seen.
  const stray = homeless(errors)

  return (
    <form
      noValidate
      onSubmit={submit}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit(event)
      }}
      className="contents"
    >
      <DialogBody>
        <div className="grid gap-4 sm:grid-cols-2">
          <Field label={t('Template')} error={errors.template} className="sm:col-span-2">
            {(wiring) => (
              <>
                <Input {...wiring} {...text('template')} autoFocus list={templates} placeholder={t('host')} />
                <datalist id={templates}>
                  {[...new Set(places.data?.flatMap((it) => it.templates))].map((name) => (
                    <option key={name} value={name} />
                  ))}
                </datalist>
              </>
            )}
          </Field>
          <Field label={t('Provider')} error={errors.provider}>
            {(wiring) => (
              <Select
                {...wiring}
                value={form.provider}
                onChange={(event) => set('provider', event.target.value)}
              >
                <option value="">{t('Carrel chooses')}</option>
                {places.data?.map((provider) => (
                  <option key={provider.name} value={provider.name}>
                    {provider.name}
                    {provider.isolation.length === 0 ? t(' (not set up)') : ''}
                    {provider.breaker.state === 'closed' ? '' : t(' (in trouble)')}
                  </option>
                ))}
              </Select>
            )}
          </Field>
          <Field label={t('Lifetime')} error={errors.timeout_s}>
            {(wiring) => (
              <Input {...wiring} {...text('lifetime')} placeholder={t('as the server has it, or 1h30m')} />
            )}
          </Field>
        </div>

        <button
          type="button"
          aria-expanded={isMore}
          aria-controls={more}
          onClick={() => setMore(!isMore)}
          className="mt-4 -ml-1 inline-flex items-center gap-1 rounded-md px-1 text-soft hover:text-ink"
        >
          <ChevronRight
            aria-hidden
            className={`size-4 transition-transform duration-150 ${isMore ? 'rotate-90' : ''}`}
          />
          {t('More')}
        </button>

        <div id={more} hidden={!isMore} className="mt-3 space-y-5">
          <Switch isOn={form.auto_pause} onChange={(isOn) => set('auto_pause', isOn)}>
            {t('Pause instead of ending when the lifetime is over')}
          </Switch>
          <fieldset className="grid grid-cols-2 gap-4 sm:grid-cols-4">
            <legend className="mb-2 font-serif font-semibold">{t('Limits')}</legend>
            <Field label={t('CPUs')} error={errors['limits.cpus']}>
              {(wiring) => <Input {...wiring} {...text('cpus')} inputMode="decimal" />}
            </Field>
            <Field label={t('Memory, MB')} error={errors['limits.memory_mb']}>
              {(wiring) => <Input {...wiring} {...text('memory_mb')} inputMode="numeric" />}
            </Field>
            <Field label={t('Disk, MB')} error={errors['limits.disk_mb']}>
              {(wiring) => <Input {...wiring} {...text('disk_mb')} inputMode="numeric" />}
            </Field>
            <Field label={t('Processes')} error={errors['limits.pids']}>
              {(wiring) => <Input {...wiring} {...text('pids')} inputMode="numeric" />}
            </Field>
          </fieldset>
          <fieldset className="grid gap-4 sm:grid-cols-2">
            <legend className="mb-2 font-serif font-semibold">{t('Network')}</legend>
            <Field label={t('Reach')} error={errors['network.mode'] ?? errors.network}>
              {(wiring) => (
                <Select
                  {...wiring}
                  value={form.mode}
                  onChange={(event) => set('mode', event.target.value as Form['mode'])}
                >
                  <option value="">{t('As the server has it')}</option>
                  <option value="none">{t('None')}</option>
                  <option value="allow">{t('Only these hosts')}</option>
                  <option value="open">{t('Open')}</option>
                </Select>
              )}
            </Field>
            {form.mode === 'allow' && (
              <Field
                label={t('Hosts')}
                error={errors['network.allow']}
                hint={t('Apart by spaces or commas.')}
              >
                {(wiring) => (
                  <Input {...wiring} {...text('allow')} placeholder={t('crates.io *.npmjs.org')} />
                )}
              </Field>
            )}
          </fieldset>
          <Pairs
            title={t('Metadata')}
            what="metadata"
            pairs={form.metadata}
            error={errors.metadata}
            onChange={(pairs) => set('metadata', pairs)}
          />
          <Pairs
            title={t('Environment')}
            what="variable"
            pairs={form.env}
            error={errors.env}
            onChange={(pairs) => set('env', pairs)}
          />
        </div>

        {create.isError && (Object.keys(errors).length === 0 || stray.length > 0) && (
          <div className="mt-4">
            <Trouble
              title={t('The sandbox was not created')}
              detail={
                stray.length > 0
                  ? stray.map(([field, detail]) => `${field}: ${detail}`).join('; ')
                  : say(create.error)
              }
            />
          </div>
        )}
      </DialogBody>
      <DialogFoot>
        <span className="mr-auto hidden items-center gap-1 text-small text-faint sm:flex">
          <Kbd>{t('Ctrl')}</Kbd> {rich('{key} creates', { key: <Kbd>{t('Enter')}</Kbd> })}
        </span>
        <Button tone="quiet" onClick={onDone}>
          {t('Cancel')}
        </Button>
        <Button tone="primary" type="submit" isBusy={create.isPending}>
          {create.isPending ? t('Creating…') : t('Create sandbox')}
        </Button>
      </DialogFoot>
    </form>
  )
}

interface PairsProps {
  title: string
  what: string
  pairs: Pair[]
  error: string | undefined
  onChange(pairs: Pair[]): void
}

/** Rows of names and values. */
function Pairs({ title, what, pairs, error, onChange }: PairsProps) {
  const edit = (row: number, change: Partial<Pair>) =>
    onChange(pairs.map((pair) => (pair.row === row ? { ...pair, ...change } : pair)))
  return (
    <fieldset>
      <legend className="mb-2 font-serif font-semibold">{title}</legend>
      <div className="space-y-2">
        {pairs.map((pair, index) => (
          <div key={pair.row} className="flex items-center gap-2">
            <Input
              aria-label={t('Name of {what} {index}', { what, index: index + 1 })}
              placeholder={t('name')}
              autoFocus={pair.name === ''}
              value={pair.name}
              onChange={(event) => edit(pair.row, { name: event.target.value })}
              className="font-mono text-small"
            />
            <Input
              aria-label={t('Value of {what} {index}', { what, index: index + 1 })}
              placeholder={t('value')}
              value={pair.value}
              onChange={(event) => edit(pair.row, { value: event.target.value })}
              className="font-mono text-small"
            />
            <IconButton
              label={t('Remove {what} {index}', { what, index: index + 1 })}
              onClick={() => onChange(pairs.filter((it) => it.row !== pair.row))}
            >
              <X />
            </IconButton>
          </div>
        ))}
        {error && (
          <p role="alert" className="text-small text-oxblood">
            {error}
          </p>
        )}
        <Button
          tone="quiet"
          icon={<Plus />}
          className="-ml-2 h-8 px-2"
          onClick={() => onChange([...pairs, { row: (pairs.at(-1)?.row ?? 0) + 1, name: '', value: '' }])}
        >
          {t('Add {what}', { what })}
        </Button>
      </div>
    </fieldset>
  )
}
