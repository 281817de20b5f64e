import { describe, expect, it } from 'vitest'
import { rowsOf, workTitle } from '../../src/thread/rows'
import { fold, stories, story } from './story'

function rows(name: string, until = Infinity): string[] {
  const state = fold(story(name).inputs.slice(0, until))
  const thread = [...state.threads.values()][0]!
  return rowsOf(thread, [...state.asks.values()], []).map(row => (row.type === 'item' ? thread.items.get(row.itemId)!.body.type : row.type))
}

describe('the rows of a transcript', () => {
  it('put the question in the place of the command, until it is answered', () => {
    const { inputs } = story('approved-command')
    const at = inputs.findIndex(input => input.kind === 'request')
    expect(rows('approved-command', at + 1)).toEqual(['userMessage', 'agentMessage', 'ask', 'working'])
    expect(rows('approved-command')).toEqual(['userMessage', 'agentMessage', 'commandExecution', 'ask', 'agentMessage', 'end'])
  })

  it('hide thoughts while they come, and fold them when they are over', () => {
    const { inputs } = story('reasoning')
    const at = inputs.findIndex(input => input.kind === 'notice' && input.method === 'item/reasoning/summaryTextDelta')
    expect(rows('reasoning', at + 1)).toEqual(['userMessage', 'working'])
    expect(rows('reasoning')).toEqual(['userMessage', 'thought', 'agentMessage', 'end', 'userMessage', 'thought', 'agentMessage', 'end'])
  })

  it('have keys of their own in every story', () => {
    for (const { name, inputs } of stories()) {
      const state = fold(inputs)
      for (const thread of state.threads.values()) {
        const keys = rowsOf(thread, [...state.asks.values()].filter(ask => ask.threadId === thread.id), ['x']).map(row => row.key)
        expect(new Set(keys).size, name).toBe(keys.length)
      }
    }
  })

  it('say in one line what quiet work was', () => {
    const item = (tool: string) => ({ body: { type: 'dynamicToolCall', tool, status: 'completed' } }) as unknown as Parameters<typeof workTitle>[0][number]
    expect(workTitle([item('read'), item('read'), item('grep')])).toBe('Read 2 files, searched once')
  })
})
