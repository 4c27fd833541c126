import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { LogOut } from 'lucide-react'
import { api, ask } from '../api/client'
import type { Bearer } from '../api/types'
import { IconButton } from '../ui/Button'
import { t } from '../words/words'

/** Whose key opened the door, and the way out. */
export function Who({ bearer }: { bearer: Bearer | undefined }) {
  const cache = useQueryClient()
  const navigate = useNavigate()
  const signOut = useMutation({
    mutationFn: () => ask(api.POST('/api/v1/sign-out')),
    onSettled: async () => {
      await navigate({ to: '/sign-in' })
      cache.clear()
    },
  })
  return (
    <div className="flex items-center gap-2 md:border-t md:border-line md:pt-3 max-2xl:md:justify-center">
      <div className="min-w-0 flex-1 max-2xl:hidden">
        <p className="truncate leading-tight font-medium">{bearer?.name ?? '…'}</p>
        <p className="text-small leading-tight text-faint">{bearer?.role}</p>
      </div>
      <IconButton label={t('Sign out')} onClick={() => signOut.mutate()}>
        <LogOut />
      </IconButton>
    </div>
  )
}
