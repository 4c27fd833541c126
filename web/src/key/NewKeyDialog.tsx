import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ask } from '../api/client'
import { beside, fieldsOf } from '../api/problem'
import type { Minted, NewKey, Role } from '../api/types'
import { Dialog } from '../ui/Dialog'
import { DialogForm } from '../ui/DialogForm'
import { Field, Input, Select } from '../ui/Field'
import { parseDuration } from '../ui/time'
import { t } from '../words/words'

const ROLES: Record<Role, string> = {
  admin: t('everything, keys and audit included'),
  member: t('sandboxes and tasks'),
  agent: t('what one agent may do'),
  sandbox: t('what one sandbox may do'),
}

interface NewKeyDialogProps {
  isOpen: boolean
  onClose(): void
  onMinted(key: Minted): void
}

export function NewKeyDialog(props: NewKeyDialogProps) {
  return (
    <Dialog
      isOpen={props.isOpen}
      onClose={props.onClose}
      title={t('New key')}
      lead={t('Name it after who will hold it.')}
    >
      <NewKeyForm {...props} />
    </Dialog>
  )
}

function NewKeyForm({ onMinted }: Pick<NewKeyDialogProps, 'onMinted'>) {
  const [name, setName] = useState('')
  const [role, setRole] = useState<Role>('member')
  const [holder, setHolder] = useState('')
  const [expiry, setExpiry] = useState('')
  const create = useMutation({
    mutationFn: (body: NewKey) => ask(api.POST('/api/v1/keys', { body })),
    onSuccess: onMinted,
  })
  const expires_in_s = parseDuration(expiry)
  const isExpiryUnclear = expiry.trim() !== '' && !expires_in_s
  const fields = fieldsOf(create.error)
  const isBound = role === 'agent' || role === 'sandbox'
  const bound = role === 'agent' ? 'agent_id' : 'sandbox_id'

  const submit = () => {
    if (isExpiryUnclear) return
    create.mutate({
      name: name.trim(),
      role,
      ...(expires_in_s ? { expires_in_s } : {}),
      ...(isBound && holder.trim() ? { [bound]: holder.trim() } : {}),
    })
  }

  return (
    <DialogForm
      act={t('Make key')}
      failed={t('The key was not made')}
      why={beside(create.error, ['name', 'role', 'agent_id', 'sandbox_id', 'expires_in_s'])}
      isBusy={create.isPending}
      canAct={Boolean(name.trim())}
      onAct={submit}
    >
      <div className="space-y-4">
        <Field label={t('Name')} error={fields.name}>
          {(wiring) => (
            <Input
              {...wiring}
              autoFocus
              value={name}
              onChange={(event) => setName(event.target.value)}
              placeholder={t('laptop, ci, claude')}
            />
          )}
        </Field>
        <Field label={t('Role')} error={fields.role} hint={t('May do {rights}.', { rights: ROLES[role] })}>
          {(wiring) => (
            <Select {...wiring} value={role} onChange={(event) => setRole(event.target.value as Role)}>
              {Object.keys(ROLES).map((it) => (
                <option key={it}>{it}</option>
              ))}
            </Select>
          )}
        </Field>
        {isBound && (
          <Field label={role === 'agent' ? t('Agent') : t('Sandbox')} error={fields[bound]}>
            {(wiring) => (
              <Input
                {...wiring}
                value={holder}
                onChange={(event) => setHolder(event.target.value)}
                className="font-mono text-small"
              />
            )}
          </Field>
        )}
        <Field
          label={t('Expires after')}
          error={isExpiryUnclear ? t('Write a length of time, such as 12h or 30d.') : fields.expires_in_s}
        >
          {(wiring) => (
            <Input
              {...wiring}
              value={expiry}
              onChange={(event) => setExpiry(event.target.value)}
              placeholder={t('never, or 30d')}
            />
          )}
        </Field>
      </div>
    </DialogForm>
  )
}
