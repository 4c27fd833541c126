/** Whether this browser is told when no page is open. */
import { useEffect, useState } from 'react'
import { say } from '../api/problem'
import { here, isSubscribed, subscribe, unsubscribe, whyNot } from '../notice/push'
import { Switch } from '../ui/Switch'
import { t } from '../words/words'

export function PushSwitch() {
  const refusal = whyNot(here())
  const [isOn, setOn] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const [trouble, setTrouble] = useState<string>()

  useEffect(() => {
    if (refusal) return
    let isOver = false
    isSubscribed().then(
      (answer) => !isOver && setOn(answer),
      () => undefined,
    )
    return () => {
      isOver = true
    }
  }, [refusal])

  const change = async (wanted: boolean) => {
    if (isBusy) return
    setBusy(true)
    setTrouble(undefined)
    try {
      await (wanted ? subscribe() : unsubscribe())
      setOn(wanted)
    } catch (error) {
      setTrouble(say(error))
    } finally {
      setBusy(false)
    }
  }

  return (
    <div>
      <Switch
        isOn={isOn && !refusal}
        isDisabled={Boolean(refusal) || isBusy}
        onChange={(it) => void change(it)}
      >
        {t('Also when no page is open, by web push')}
      </Switch>
      {(refusal ?? trouble) && (
        <p role={trouble ? 'alert' : undefined} className="mt-1 text-small text-faint">
          {refusal ?? trouble}
        </p>
      )}
    </div>
  )
}
