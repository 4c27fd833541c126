/** Who works here. A member is a key that a person holds; they come in by a link and never have to see it. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link2, Trash2, UserPlus } from 'lucide-react'
import { useState } from 'react'
import { api, ask } from '../api/client'
import { beside, fieldsOf, say } from '../api/problem'
import { keys, me, mintedKeys } from '../api/queries'
import type { KeyView, Role } from '../api/types'
import { Button, IconButton } from '../ui/Button'
import { Confirm } from '../ui/Confirm'
import { Copy } from '../ui/Copy'
import { cx } from '../ui/cx'
import { Dialog, DialogBody, DialogFoot } from '../ui/Dialog'
import { DialogForm } from '../ui/DialogForm'
import { Field, Input, Select } from '../ui/Field'
import { Ago } from '../ui/Moments'
import { Chip, PageHead, Skeleton, Trouble } from '../ui/Small'
import { toast } from '../ui/Toast'
import { worded } from '../words/enums'
import { rich, t } from '../words/words'
import { changeMember, invite, people } from './queries'

const MAY: Record<'admin' | 'member', string> = {
  member: t('all the work: tasks, sandboxes, repositories, merges'),
  admin: t('everything, members, secrets and the audit included'),
}

interface Invitation {
  name: string
  link: string
}

export function MembersPage() {
  const cache = useQueryClient()
  const list = useQuery(mintedKeys)
  const self = useQuery(me).data
  const [isInviting, setInviting] = useState(false)
  const [invitation, setInvitation] = useState<Invitation>()
  const refresh = () => void cache.invalidateQueries({ queryKey: keys.keys })

  const change = useMutation({
    mutationFn: ({ member, role }: { member: KeyView; role: Role }) => changeMember(member.id, { role }),
    onSuccess: (member) => toast(t('{name} is {role} now', { name: member.name, role: worded(member.role) })),
    onError: (error, { member }) =>
      toast(t('{name} stays {role}', { name: member.name, role: worded(member.role) }), say(error), 'bad'),
    onSettled: refresh,
  })
  const link = useMutation({
    mutationFn: (member: KeyView) => invite(member.id),
    onSuccess: (address, member) => setInvitation({ name: member.name, link: address }),
    onError: (error, member) =>
      toast(t('There is no link for {name}', { name: member.name }), say(error), 'bad'),
  })
  const remove = useMutation({
    mutationFn: (member: KeyView) =>
      ask(api.DELETE('/api/v1/keys/{id}', { params: { path: { id: member.id } } })),
    onSuccess: (_answer, member) => toast(t('{name} was shown out', { name: member.name })),
    onError: (error, member) => toast(t('{name} is still here', { name: member.name }), say(error), 'bad'),
    onSettled: refresh,
  })

  return (
    <>
      <title>{t('Members · Carrel')}</title>
      <PageHead
        title={t('Members')}
        lead={t(
          'The people of this house. Each has a key of their own, so that each can be taken back alone.',
        )}
      >
        <Button tone="primary" icon={<UserPlus />} onClick={() => setInviting(true)}>
          {t('Invite')}
        </Button>
      </PageHead>
      {list.isPending && <Skeleton className="h-40 w-full rounded-2xl" />}
      {list.isError && <Trouble title={t('The members could not be listed')} detail={say(list.error)} />}
      {list.data && (
        <ul
          aria-label={t('Members')}
          className="divide-y divide-line overflow-hidden rounded-2xl border border-line bg-card shadow-card"
        >
          {people(list.data).map((member) => (
            <li
              key={member.id}
              data-member={member.name}
              className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3"
            >
              <span
                aria-hidden
                className={cx(
                  'grid size-9 place-items-center rounded-full font-semibold uppercase',
                  member.revoked_at ? 'bg-well text-faint' : 'bg-lamp-wash text-lamp',
                )}
              >
                {member.name.charAt(0)}
              </span>
              <div className="min-w-40 flex-1">
                <p className="flex flex-wrap items-center gap-2 font-medium">
                  <span className={cx('wrap-anywhere', member.revoked_at && 'text-faint line-through')}>
                    {member.name}
                  </span>
                  {member.id === self?.key_id && <Chip>{t('you')}</Chip>}
                </p>
                <p className="text-small text-faint">
                  {member.revoked_at
                    ? rich('shown out {ago}', { ago: <Ago at={member.revoked_at} /> })
                    : member.last_used_at
                      ? rich('here {ago}', { ago: <Ago at={member.last_used_at} /> })
                      : t('has not come in yet')}
                </p>
              </div>
              {!member.revoked_at && (
                <>
                  <Select
                    aria-label={t('Role of {name}', { name: member.name })}
                    value={member.role}
                    disabled={change.isPending}
                    onChange={(event) => change.mutate({ member, role: event.target.value as Role })}
                    className="w-28!"
                  >
                    <option value="member">{t('member')}</option>
                    <option value="admin">{t('admin')}</option>
                  </Select>
                  <div className="flex">
                    <IconButton
                      label={t('A sign-in link for {name}', { name: member.name })}
                      onClick={() => link.mutate(member)}
                    >
                      <Link2 />
                    </IconButton>
                    <Confirm
                      title={t('Show {name} out?', { name: member.name })}
                      detail={t(
                        'Their key and every browser it signed in stop working now. What they did stays.',
                      )}
                      act={t('Show out')}
                      onConfirm={() => remove.mutate(member)}
                    >
                      <IconButton
                        label={t('Show {name} out', { name: member.name })}
                        className="hover:bg-oxblood-wash hover:text-oxblood"
                      >
                        <Trash2 />
                      </IconButton>
                    </Confirm>
                  </div>
                </>
              )}
            </li>
          ))}
        </ul>
      )}
      <Dialog
        isOpen={isInviting}
        onClose={() => setInviting(false)}
        title={t('Invite somebody')}
        lead={t('They get a link that signs them in once. No account, no password.')}
      >
        <InviteForm
          onInvited={(made) => {
            setInviting(false)
            setInvitation(made)
            refresh()
          }}
        />
      </Dialog>
      <Dialog
        isOpen={invitation !== undefined}
        onClose={() => setInvitation(undefined)}
        canLeave={false}
        title={t('A link for {name}', { name: invitation?.name ?? '' })}
        lead={t('It works once, within the hour. Whoever opens it comes in as them.')}
      >
        <DialogBody>
          <div className="flex items-center gap-2 rounded-xl border border-brass/50 bg-brass-wash py-2 pr-2 pl-4">
            <code data-invitation className="min-w-0 flex-1 font-mono text-small break-all">
              {invitation?.link}
            </code>
            <Copy text={invitation?.link ?? ''} label={t('Copy link')} />
          </div>
        </DialogBody>
        <DialogFoot>
          <Button tone="primary" onClick={() => setInvitation(undefined)}>
            {t('I have it')}
          </Button>
        </DialogFoot>
      </Dialog>
    </>
  )
}

function InviteForm({ onInvited }: { onInvited(invitation: Invitation): void }) {
  const [name, setName] = useState('')
  const [role, setRole] = useState<'admin' | 'member'>('member')
  const create = useMutation({
    mutationFn: async () => {
      const { key } = await ask(api.POST('/api/v1/keys', { body: { name: name.trim(), role } }))
      // The key's secret is let go: the link is all they need.
      return { name: key.name, link: await invite(key.id) }
    },
    onSuccess: onInvited,
  })
  const fields = fieldsOf(create.error)
  return (
    <DialogForm
      act={t('Make a link')}
      failed={t('Nobody was invited')}
      why={beside(create.error, ['name', 'role'])}
      isBusy={create.isPending}
      canAct={Boolean(name.trim())}
      onAct={() => create.mutate()}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label={t('Name')} error={fields.name}>
          {(wiring) => (
            <Input
              {...wiring}
              autoFocus
              placeholder={t('Ada')}
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
        <Field label={t('Role')} error={fields.role} hint={t('May do {rights}.', { rights: MAY[role] })}>
          {(wiring) => (
            <Select
              {...wiring}
              value={role}
              onChange={(event) => setRole(event.target.value as 'admin' | 'member')}
            >
              <option value="member">{t('member')}</option>
              <option value="admin">{t('admin')}</option>
            </Select>
          )}
        </Field>
      </div>
    </DialogForm>
  )
}
