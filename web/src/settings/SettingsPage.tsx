/** What this browser wants: its look, and how it is told that a card needs somebody. */
import { Bell } from 'lucide-react'
import { useState } from 'react'
import { ThemeSwitch } from '../frame/ThemeSwitch'
import { ring } from '../notice/bell'
import { useWishes } from '../notice/wishes'
import { Button } from '../ui/Button'
import { Segments } from '../ui/Segments'
import { Box, PageHead } from '../ui/Small'
import { Switch } from '../ui/Switch'
import { useZone, zoneHere } from '../ui/zone'
import { t } from '../words/words'
import { PushSwitch } from './PushSwitch'
import { SettingsFrame } from './SettingsFrame'

export function SettingsPage() {
  const [wishes, change] = useWishes()
  const [refused, setRefused] = useState(false)
  const [zone, setZone] = useZone()

  const wantDesktop = async (isOn: boolean) => {
    if (!isOn) return change({ desktop: false })
    const answer = 'Notification' in window ? await Notification.requestPermission() : 'denied'
    setRefused(answer !== 'granted')
    change({ desktop: answer === 'granted' })
  }

  return (
    <SettingsFrame>
      <title>{t('Settings · Carrel')}</title>
      <PageHead title={t('Settings')} lead={t('These are kept in this browser alone.')} />
      <div className="grid grid-cols-1 gap-5 lg:grid-cols-2">
        <Box title={t('Look')}>
          <ThemeSwitch />
          <p className="mt-3 text-small text-faint">{t('Light, dark, or as the system has it.')}</p>
          <h2 className="mt-5 mb-2 text-lead">{t('Times')}</h2>
          <div className="w-fit">
            <Segments
              label={t('Time zone')}
              value={zone === 'UTC' ? 'UTC' : 'here'}
              options={[
                { value: 'here', label: t('Here: {zone}', { zone: zoneHere() }) },
                { value: 'UTC', label: t('UTC') },
              ]}
              onChange={(next) => setZone(next === 'UTC' ? 'UTC' : undefined)}
            />
          </div>
          <p className="mt-3 text-small text-faint">
            {t('Every “3 min ago” tells its exact moment when it is pointed at.')}
          </p>
        </Box>
        <section className="rounded-2xl border border-line bg-card px-5 py-4 shadow-card">
          <h2 className="mb-1 text-lead">{t('When a card needs you')}</h2>
          <p className="mb-4 text-small text-faint">
            {t('Only then. The number in the title of the page is always there.')}
          </p>
          <div className="flex flex-col gap-3">
            <div className="flex items-center justify-between">
              <Switch isOn={wishes.sound} onChange={(sound) => change({ sound })}>
                {t('A small bell')}
              </Switch>
              <Button tone="quiet" icon={<Bell />} onClick={ring}>
                {t('Hear it')}
              </Button>
            </div>
            <Switch isOn={wishes.desktop} onChange={(isOn) => void wantDesktop(isOn)}>
              {t('A notice on the desktop, while this page is in the background')}
            </Switch>
            <PushSwitch />
            {refused && (
              <p role="alert" className="text-small text-oxblood">
                {t(
                  'The browser does not allow notices from this address. Allow them in its settings for this page.',
                )}
              </p>
            )}
          </div>
        </section>
      </div>
    </SettingsFrame>
  )
}
