// The bell of a page that nobody has open: shows what the house says, and leads to the card. See src/notice/push.ts.
self.addEventListener('push', (event) => {
  event.waitUntil(
    (async () => {
      let told = {}
      try {
        told = event.data?.json() ?? {}
      } catch {
        // What cannot be read is still a sign that somebody is wanted.
      }
      // Whoever looks at the board already sees the raised hand.
      const pages = await self.clients.matchAll({ type: 'window', includeUncontrolled: true })
      if (pages.some((page) => page.visibilityState === 'visible' && page.focused)) return
      await self.registration.showNotification(String(told.title ?? 'A card needs you'), {
        body: String(told.body ?? ''),
        tag: told.task ? `carrel-task-${told.task}` : 'carrel',
        icon: '/app/mark.svg',
        data: { path: String(told.path ?? '/app/') },
      })
    })(),
  )
})

self.addEventListener('notificationclick', (event) => {
  event.notification.close()
  const path = event.notification.data?.path
  // Nothing that was sent leads out of this house.
  const wanted = new URL(typeof path === 'string' ? path : '/app/', self.location.origin)
  const address = wanted.origin === self.location.origin ? wanted.href : `${self.location.origin}/app/`
  event.waitUntil(
    (async () => {
      const pages = await self.clients.matchAll({ type: 'window', includeUncontrolled: true })
      const open = pages.find((page) => new URL(page.url).pathname.startsWith('/app'))
      if (!open) return void (await self.clients.openWindow(address))
      await open.focus()
      await open.navigate(address).catch(() => self.clients.openWindow(address))
    })(),
  )
})
