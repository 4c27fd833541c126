import { queryOptions } from '@tanstack/react-query'
import { callList } from '../api/call'
import { keys } from '../api/queries'
import type { Agent } from '../task/types'

export const agents = queryOptions({
  queryKey: keys.agents,
  queryFn: () => callList<Agent>('/api/v1/agents'),
})
