// A form from its first look to its last: shown, sent, shown again with what is wrong, and saved while the visitor signs in.
import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify'
import { FieldError, type NextStep, PublicError } from '../errors.ts'
import { Once } from '../once.ts'
import { logFault, OtherAnswer } from './error-pages.ts'
import { createFormTokens, createHandovers, createNotices, type FormToken } from './hand-over.ts'
import type { Sealer } from './seal.ts'
import { showMessage, showPage, type VisitorOf } from './views.ts'

export type Fields = Record<string, string>

/** What the template of a form gets, beside what the form's own `data` adds. */
export type Shown = {
  /** For the hidden field of this name. */
  formToken: string
  /** Where the form is sent. */
  action: string
  /** What stands in the fields: as typed, or nothing. */
  fields: Fields
  /** What is wrong, by field. */
  errors: Record<string, string[]>
  problem?: PublicError
  /** The fields were typed before the session ended. */
  hasDraft?: boolean
  /** The session has ended, and the fields fit into no cookie: there is no visitor, and this leads to the login. */
  signInHref?: string
}

type Definition = {
  /** The page that the form stands on, as its GET route is registered: `/notes/:id/edit`. */
  page: string
  /** Its template. A form of buttons has none: its faults get a page of their own. */
  template?: string
  /** The page's `title`, and what else the template shows; it may replace what is shown by itself. */
  data?: (request: FastifyRequest, shown: Shown) => object | Promise<object>
}

export type Sent = {
  /** As typed. If the form comes back, it shows what stands here then. */
  fields: Fields
  token: FormToken
  /** Does the work once for this form, in this process: for ten minutes every other delivery shares its answer. */
  once: <T>(work: () => Promise<T>) => Promise<T>
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>
export type Forms = ReturnType<typeof createForms>
export type Form = ReturnType<Forms['defineForm']>

const shareMs = 10 * 60 * 1000
const sessionEnded = 'Your session has ended'

export function createForms(sealer: Sealer, clock: () => Date, visitorOf: VisitorOf) {
  const tokens = createFormTokens(sealer, clock)
  const handovers = createHandovers(sealer, clock, visitorOf)
  const notices = createNotices(sealer, clock, visitorOf)

  function defineForm({ page, template, data = () => ({}) }: Definition) {
    const done = new Once<unknown>(clock, { shareMs })

    const form = {
      page,
      template,

      /** To register the POST with: `signedIn.post('/notes', form.route, form.submit(…))`. */
      get route() {
        return { config: { form } as FastifyContextConfig }
      },

      pathOf({ params }: FastifyRequest): string {
        return page.replace(/:(\w+)/g, (_, name) => encodeURIComponent((params as Fields)[name] ?? ''))
      },

      /** Handles the GET: the form, with what the visitor typed before the session ended. */
      open(request: FastifyRequest, reply: FastifyReply): Promise<string> {
        return handovers.take<Fields>(request, reply, draft =>
          show(request, reply, { fields: draft ?? {}, hasDraft: draft !== undefined }),
        )
      },

      /** Handles the POST. What `work` throws as PublicError is shown in the form, with all that was typed. */
      submit(work: (request: FastifyRequest, reply: FastifyReply, sent: Sent) => Promise<unknown>): Handler {
        return async (request, reply) => {
          const { formToken, ...fields } = readFields(request)
          try {
            const path = form.pathOf(request)
            const token = tokens.check(formToken, visitorOf(request).visitorId, path)
            const once = <T>(work: () => Promise<T>) => done.do(`${token.id} ${path}`, work) as Promise<T>
            return await work(request, reply, { fields, token, once })
          } catch (error) {
            if (!template || !isShownInForm(error)) throw error
            logFault(request, error)
            return show(request, reply.code(error.statusCode), {
              ...tokenAfter(error, formToken),
              fields,
              problem: error,
            })
          }
        }
      },

      /**
       * Answers a POST without a session: what was typed waits for the login that `nextStep` leads to, or is shown as it
       * was sent. It is never sent without the visitor.
       */
      interrupt(request: FastifyRequest, reply: FastifyReply, nextStep: NextStep): Promise<string> {
        const { formToken = '', ...fields } = readFields(request)
        const isTyped = template !== undefined && Object.keys(fields).length > 0
        // Without a token nobody can say whose form it was.
        const visitorId = tokens.open(formToken)?.visitorId
        const draft = isTyped && visitorId ? { path: form.pathOf(request), visitorId, value: fields } : undefined
        const isLeft = draft !== undefined && handovers.leave(reply, draft, 'lax')
        reply.code(401)
        if (isTyped && !isLeft) return show(request, reply, { formToken, fields, signInHref: nextStep.href })
        const message = isLeft
          ? 'Nothing was sent. What you typed is kept for ten minutes, and you will find it in the form.'
          : 'Nothing was done. Please sign in and try again.'
        return showMessage(reply, { title: sessionEnded, message, nextStep })
      },
    }

    async function show(request: FastifyRequest, reply: FastifyReply, given: Partial<Shown> & Pick<Shown, 'fields'>) {
      const errors = given.problem instanceof FieldError ? given.problem.fields : {}
      const formToken = given.formToken ?? tokens.create(visitorOf(request).visitorId)
      const shown: Shown = { action: form.pathOf(request), errors, ...given, formToken }
      const title = shown.signInHref && { title: sessionEnded }
      try {
        return await showPage(reply, template!, { title: '', ...shown, ...(await data(request, shown)), ...title })
      } catch (error) {
        // What was typed is in this request and nowhere else: the page must show it, whatever fails.
        // The exceptions have an answer of their own: what is gone, and a session that ends just now.
        const hasOwnAnswer = error instanceof PublicError ? !isShownInForm(error) : error instanceof OtherAnswer
        if (request.method === 'GET' || hasOwnAnswer) throw error
        const message = 'A form could not be shown.'
        logFault(request, new PublicError('form_not_shown', 500, message, { cause: error }))
        // The sender chose the names: only harmless ones become part of the page.
        const names = Object.keys(shown.fields).filter(name => /^[\w.-]{1,100}$/.test(name))
        const inputs = names.map(name => ({ name, label: name, rows: 3 }))
        return showPage(reply, 'form', {
          title: 'What you typed',
          ...shown,
          // The request's own address: `data` may have named another one than the page of the form.
          action: request.url,
          inputs,
          button: 'Send again',
          ...title,
        })
      }
    }

    /** The same token again, so that a form whose answer was lost still acts once; a new one where it is used up. */
    function tokenAfter({ code, statusCode }: PublicError, formToken: string | undefined): { formToken?: string } {
      const token = tokens.open(formToken)
      if (!token || code === 'form_used') return {}
      // Neither done nor refused, as far as is known. Every replica can read it in the form.
      const isInDoubt = statusCode === 502 || statusCode === 504
      return { formToken: isInDoubt ? tokens.seal({ ...token, mayHaveActed: true }) : formToken! }
    }

    return form
  }

  return { defineForm, handovers, notices }
}

/** What is gone, or was meant for another visitor, gets a page of its own. */
function isShownInForm(error: unknown): error is PublicError {
  return error instanceof PublicError && error.statusCode !== 404 && error.code !== 'other_visitor'
}

/** The text fields of a form; a field that comes twice is left out. */
function readFields({ body }: FastifyRequest): Fields {
  const entries = Object.entries(typeof body === 'object' && body !== null ? body : {})
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
}

/** The form that a POST belongs to. */
export function formOf(request: FastifyRequest): Form | undefined {
  return (request.routeOptions.config as { form?: Form }).form
}
