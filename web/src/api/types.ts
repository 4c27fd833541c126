/** The published language as this page speaks it. Everything here comes from `openapi.json`; nothing is written twice. */
import type { components } from './schema'

type Schemas = components['schemas']

export type SandboxView = Schemas['SandboxView']
export type NewSandbox = Schemas['NewSandbox']
export type Phase = Schemas['Phase']
export type ProviderView = Schemas['ProviderView']
export type Breaker = Schemas['BreakerView']
export type KeyView = Schemas['KeyView']
export type KeyChange = Schemas['KeyChange']
export type SignInLink = Schemas['SignInLink']
export type NewKey = Schemas['NewKey']
export type Minted = Schemas['Minted']
export type Role = Schemas['Role']
export type AuditView = Schemas['AuditView']
export type Bearer = Schemas['Bearer']
export type Problem = Schemas['Problem']
export type RepoView = Schemas['RepoView']
export type NewRepo = Schemas['NewRepo']
export type RepoChange = Schemas['RepoChange']
export type RepoFitness = Schemas['RepoFitness']
export type NoticesView = Schemas['NoticesView']
export type SubscriptionView = Schemas['SubscriptionView']
export type PushView = Schemas['PushView']
export type TemplateView = Schemas['TemplateView']
export type NewTemplate = Schemas['NewTemplate']
export type SecretView = Schemas['SecretView']
export type StatsView = Schemas['StatsView']
export type ExecView = Schemas['ExecView']
export type FileEntry = Schemas['FileEntry']

export type Entry = Schemas['Entry']

/** The living sandboxes, and the point in the journal they were true at. */
export interface SandboxList {
  items: SandboxView[]
  as_of: string
  /** More exist than this page will hold. */
  cut: boolean
}
