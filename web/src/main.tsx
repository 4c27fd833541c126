import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { onSignedOut } from './api/client'
import { Refusal } from './api/problem'
import { keys } from './api/queries'
import { makeRouter, wish } from './routes'
import './ui/page.css'

const cache = new QueryClient({
  defaultOptions: {
    queries: {
      // The stream keeps what it feeds fresh, so nothing is asked for twice without a reason.
      staleTime: Number.POSITIVE_INFINITY,
      refetchOnWindowFocus: false,
      refetchOnReconnect: false,
      // A refusal will be repeated; a server that is away or busy may come back.
      retry: (failures, error) => failures < 4 && !(error instanceof Refusal && error.status < 500),
    },
  },
})

const router = makeRouter(cache)

onSignedOut(() => {
  cache.removeQueries({ queryKey: keys.me })
  const { pathname, href } = router.state.location
  if (pathname !== '/sign-in') void router.navigate({ to: '/sign-in', search: wish(href), replace: true })
})

createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={cache}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
)
