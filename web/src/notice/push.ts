/** Web push: this browser is told that a card needs somebody, also when no page is open. */
import { callJson } from '../api/call'
import type { NoticesView, SubscriptionView } from '../api/types'
import { t } from '../words/words'

const ADDRESS = '/api/v1/notices'

/** Why it cannot be had here; nothing when it can. */
export function whyNot(here: {
  isSecureContext: boolean
  hasWorkers: boolean
  hasPush: boolean
}): string | undefined {
  if (!here.isSecureContext)
    return t(
      'Browsers allow it only by https, or on the machine that Carrel runs on: put Carrel behind https first.',
    )
  if (!here.hasWorkers || !here.hasPush) return t('This browser has no web push.')
  return undefined
}

export const here = () => ({
  isSecureContext: window.isSecureContext,
  hasWorkers: 'serviceWorker' in navigator,
  hasPush: 'PushManager' in window,
})

/** Whether this browser is told already. */
export async function isSubscribed(): Promise<boolean> {
  const worker = await navigator.serviceWorker.getRegistration(import.meta.env.BASE_URL)
  return Boolean(await worker?.pushManager.getSubscription())
}

/** Asks the browser, then the house. Throws in words when either refuses. */
export async function subscribe(): Promise<void> {
  const answer = await Notification.requestPermission()
  if (answer !== 'granted') throw new Error(t('The browser does not allow notices from this address.'))
  const { public_key } = await callJson<NoticesView>(ADDRESS)
  const worker = await navigator.serviceWorker.register(`${import.meta.env.BASE_URL}push.js`, {
    scope: import.meta.env.BASE_URL,
  })
  await navigator.serviceWorker.ready
  const former = await worker.pushManager.getSubscription()
  // One that was made with another key of the house is never heard.
  if (former && !isSame(former.options.applicationServerKey, bytes(public_key))) await former.unsubscribe()
  const subscription = await worker.pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: bytes(public_key),
  })
  const { endpoint, keys } = subscription.toJSON()
  try {
    await callJson<SubscriptionView>(ADDRESS, {
      method: 'POST',
      body: { endpoint, keys: { p256dh: keys?.p256dh, auth: keys?.auth } },
    })
  } catch (error) {
    await subscription.unsubscribe()
    throw error
  }
}

/** Leaves this browser in peace; the house finds out by itself if it cannot be told. */
export async function unsubscribe(): Promise<void> {
  const worker = await navigator.serviceWorker.getRegistration(import.meta.env.BASE_URL)
  const subscription = await worker?.pushManager.getSubscription()
  if (!subscription) return
  const { items } = await callJson<NoticesView>(ADDRESS)
  await subscription.unsubscribe()
  const service = new URL(subscription.endpoint).host
  const id = await print(subscription.endpoint)
  if (items.some((it) => it.id === id && it.service === service))
    await callJson(`${ADDRESS}/${encodeURIComponent(id)}`, { method: 'DELETE' })
}

/** The name that the house gives to an address: the beginning of its SHA-256. */
export async function print(endpoint: string): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(endpoint))
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, '0'))
    .join('')
    .slice(0, 24)
}

/** URL-safe Base64, as keys are written. */
export function bytes(text: string): Uint8Array<ArrayBuffer> {
  const plain = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  return Uint8Array.from(plain, (letter) => letter.charCodeAt(0))
}

function isSame(held: ArrayBuffer | null, wanted: Uint8Array): boolean {
  const known = new Uint8Array(held ?? new ArrayBuffer(0))
  return known.length === wanted.length && known.every((byte, at) => byte === wanted[at])
}
