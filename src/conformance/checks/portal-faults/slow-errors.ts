// Checks how the client handles large or slow error answers from the portal. Many clients limit only the answers that
// they expect.
import { type CheckDefinition, Undecided } from '../../check.ts'
import { describePage, expect } from '../../findings.ts'
import { beginLogin, followCallback } from '../../steps/callback.ts'
import { renewUnder } from '../../steps/renewals.ts'

const json = 'application/json; charset=utf-8'
const largeMiB = 32

const refusal = (status: number) => ({
  status,
  type: json,
  body: JSON.stringify({ error: 'invalid_request', error_description: 'The portal cannot answer this request now.' }),
})

const slow = {
  rule: 'UP-03',
  why: 'Some clients stop their timer when the headers have arrived, or restart it with each byte. The visitor then waits until a slow error answer is complete. This check allows 20 seconds.',
  fix: 'Give each call one deadline, from the start of the call to the end of the answer, whatever the status is.',
  longestMs: 120_000,
} as const

export const slowErrors: CheckDefinition[] = [
  {
    id: 'exchange-error-drip',
    title:
      'When the portal sends an error answer to the exchange one byte at a time, the visitor gets an answer in time',
    ...slow,
    async run(context) {
      for (const status of [400, 503]) {
        const { browser, callback } = await beginLogin(context)
        await context.order('exchange-answer', { times: 5, options: { ...refusal(status), byteSeconds: 1 } })
        const page = await followCallback(context, browser, callback)
        await context.dropFaults()
        expect(page.status !== 0, `The browser got ${describePage(page)}.`, page)
      }
    },
  },
  {
    id: 'refresh-error-drip',
    title:
      'When the portal sends an error answer to the renewal one byte at a time, the visitor gets an answer in time',
    ...slow,
    needs: ['page'],
    async run(context) {
      await renewUnder(context, 'refresh-answer', { ...refusal(503), byteSeconds: 1 })
    },
  },
  {
    id: 'exchange-error-bounded',
    title: 'When the portal sends an error answer of 32 MiB, the client closes the connection before the answer ends',
    rule: 'bounded-answers',
    why: 'Many clients limit the size of a token response, but read an error answer to its end, whatever its size. Such an answer fills the memory that all visitors share.',
    fix: 'Count the bytes in the one function that reads every answer, whatever its status is, and stop at about 64 KiB.',
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      await context.order('exchange-answer', { times: 5, options: { ...refusal(400), largeMiB } })
      await followCallback(context, browser, callback)
      await context.platform.settle(2000)
      const step = context.arrived('exchange').find(({ fault }) => fault)
      if (!step) throw new Undecided('The client has not yet closed the connection on which it made the exchange.')
      expect(step.response.isCut, 'The client read the whole error answer.', step)
    },
  },
]
