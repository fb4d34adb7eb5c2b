// The mail that the portal would have sent, as JSON and as a page. Tests need the links in the mail, for example to
// reset a password.
import { randomUUID } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { answer, listOf, object, type Schema, text, time } from '../../http/describe.ts'
import type { Mail, Mailbox } from '../../people/mail.ts'
import { normaliseEmail } from '../../values/email-address.ts'
import { queryOf, refusalAnswers } from '../call-schemas.ts'

interface DeliveredMail extends Mail {
  id: string
  at: Date
}

// The number of messages is limited for each address. Otherwise a stranger could request many messages for one account,
// and the mailbox would then drop the links of other people.
const mostForOneAddress = 10
const mostKept = 1000
const mostShown = 100

interface KeptMail extends Mailbox {
  /** The newest message comes first. `to` limits the list to one address. */
  list(to?: string): DeliveredMail[]
}

/** Keeps messages in memory: the latest ten for each address, and the latest thousand in total. */
export function createMailbox({ clock, labUrl }: { clock: () => Date; labUrl: string }): KeptMail {
  let mails: DeliveredMail[] = []
  return {
    url: `${labUrl}/mailbox`,
    deliver(mail) {
      const surplus = mails.filter(({ to }) => to === mail.to)[mostForOneAddress - 1]
      const others = mails.filter(other => other !== surplus)
      mails = [{ id: randomUUID(), at: clock(), ...mail }, ...others].slice(0, mostKept)
    },
    list(to) {
      if (to === undefined) return mails
      const address = normaliseEmail(to)
      return mails.filter(mail => mail.to === address)
    },
  }
}

/** The schema of the answer, under its name in the OpenAPI document. */
export const mailSchemas: Record<string, Schema> = {
  MailList: object({
    mails: listOf(
      object({
        id: text,
        at: time,
        to: text,
        subject: text,
        text,
        links: {
          ...listOf(text),
          description: 'The links in the text. A link for resetting a password works only once.',
        },
      }),
    ),
  }),
}

export function mailboxRoutes(mailbox: KeptMail) {
  return {
    list: {
      schema: {
        tags: ['What happened'],
        operationId: 'listMail',
        summary: 'List the newest thousand messages that the portal would have sent',
        querystring: queryOf({ to: { type: 'string', description: 'Returns only messages to this e-mail address.' } }),
        response: { 200: answer('The newest message comes first.', 'MailList'), ...refusalAnswers() },
      },
      async handler(request: FastifyRequest) {
        const { to } = request.query as { to?: string }
        return { mails: mailbox.list(to).map(mail => ({ ...mail, links: linksIn(mail.text) })) }
      },
    },

    async show(_request: FastifyRequest, reply: FastifyReply) {
      const mails = mailbox
        .list()
        .slice(0, mostShown)
        .map(mail => ({ ...mail, lines: mail.text.split('\n').filter(Boolean), isLink }))
      return reply.viewAsync('lab/mailbox', { title: 'Mailbox', path: '/mailbox', mails, mostShown })
    },
  }
}

function linksIn(text: string): string[] {
  return text.split('\n').filter(isLink)
}

function isLink(line: string): boolean {
  return /^https?:\/\/\S+$/.test(line)
}
