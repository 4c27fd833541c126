import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { afterEach, describe, expect, it } from 'vitest'
import { ENGLISH, type Language, PSEUDO, rich, speak, t, tn } from './words'

const POLISH: Language = {
  code: 'pl',
  words: (english) =>
    ({
      Merge: 'Scal',
      '{name} is gone': 'Nie ma już {name}',
      '{n} task | {n} tasks': {
        one: '{n} zadanie',
        few: '{n} zadania',
        many: '{n} zadań',
        other: '{n} zadania',
      },
      'press {key} to begin': 'aby zacząć, wciśnij {key}',
    })[english],
}

afterEach(() => speak(ENGLISH))

describe('words', () => {
  it('are English unless somebody wants otherwise', () => {
    expect(t('Merge')).toBe('Merge')
    expect(t('{name} is gone, {name}', { name: 'Ada' })).toBe('Ada is gone, Ada')
    expect(t('a branch is task-{id}')).toBe('a branch is task-{id}')
    expect([tn(1, '{n} task', '{n} tasks'), tn(1200, '{n} task', '{n} tasks')]).toEqual([
      '1 task',
      '1,200 tasks',
    ])
  })

  it('are those of another language, with its own order and its own plurals', () => {
    speak(POLISH)
    expect(t('Merge')).toBe('Scal')
    expect(t('{name} is gone', { name: 'Ada' })).toBe('Nie ma już Ada')
    expect([1, 2, 5, 22].map((it) => tn(it, '{n} task', '{n} tasks'))).toEqual([
      '1 zadanie',
      '2 zadania',
      '5 zadań',
      '22 zadania',
    ])
    expect(renderToStaticMarkup(rich('press {key} to begin', { key: createElement('kbd', null, 'n') }))).toBe(
      'aby zacząć, wciśnij <kbd>n</kbd>',
    )
    expect(t('Not in the table')).toBe('Not in the table')
  })

  it('can be told from those that were forgotten', () => {
    speak(PSEUDO)
    expect(t('Merge {name}', { name: 'Anna' })).toBe('⟦Mérgé Anna⟧')
    expect(tn(2, '{n} task', '{n} tasks')).toBe('⟦2 tásks⟧')
  })
})
