// A Fastify plugin for pages with a form: `app.defineForm` protects against double submission, keeps drafts while the
// visitor signs in again, and shows a refused form again with its errors. An ordinary app.post() works without this
// plugin. The plugin also adds `app.handovers` and `app.notices`, which pass a value to the next page (handover.ts).
import type { FastifyReply, FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { FieldError, type NextStep, PublicError } from '../errors.ts'
import { ExpiringMap, shareWork } from '../expiring-map.ts'
import type { Sentence } from '../texts.ts'
import { logError } from './error-pages.ts'
import { createFormTokens, type FormToken, type FormTokens } from './form-token.ts'
import { createHandovers, createNotices, type Handovers, type Notices } from './handover.ts'
import type { Sealer } from './seal.ts'

export type { FormToken } from './form-token.ts'

/** The text fields of a form, keyed by their names. */
export type FormFields = Record<string, string>

/** `seen` is the text that a new token of the form contains (FormToken). */
type PageData = { seen?: string | undefined; [name: string]: unknown }

/** The data that the template of a form gets, together with the result of the form's `data`. */
export type FormPage = {
  /** The value of the hidden field `formToken`. */
  formToken: string
  /** The address that the form is sent to. */
  action: string
  /** The values of the fields: what the visitor typed, or nothing. */
  fields: FormFields
  /** The problems of each field. */
  errors: Record<string, string[]>
  /** Why the form was refused. */
  problem?: PublicError
  /** True if the fields contain a draft, which the visitor typed before the session ended. */
  hasDraft?: boolean
  /**
   * The address of a link for signing in. It is set if the session has ended and the draft does not fit into a cookie.
   */
  signInHref?: string
  /** True if `request.visitor` does not exist, because the session has ended or could not be renewed. */
  hasNoVisitor?: boolean
}

export type FormDefinition = {
  /** The path of the form's page, with the parameters of its GET route, such as `/notes/:id/edit`. */
  page: string
  /** The template of the page. */
  template: string
  /** Returns more data for the template, such as `title`. This data replaces fields of FormPage with the same name. */
  data?: (request: FastifyRequest, page: Omit<FormPage, 'formToken'>) => PageData | Promise<PageData>
  /**
   * Hidden fields that only help to show the form again, such as the names of choices. A draft does not contain these
   * fields. If the template fails, the client shows a simple form, which does not contain these fields either.
   */
  notInDraft?: string[]
}

export type Submission = {
  fields: FormFields
  token: FormToken
  /**
   * Does the work only once for this form. If this process gets the same form again within ten minutes, `once` returns
   * the result of the first submission. Browsers automatically send a form again when the connection breaks.
   */
  once: <T>(work: () => Promise<T>) => Promise<T>
  /** If the form is refused, it is shown again with these values, and not with `fields`. */
  showAgainWith: (fields: FormFields) => void
}

/**
 * What the client keeps of a form while the visitor signs in. The token says when the form was shown, and whether the
 * API may have acted.
 */
type Draft = { fields: FormFields; token: FormToken }

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>
type SubmitHandler = (request: FastifyRequest, reply: FastifyReply, submission: Submission) => Promise<unknown>

/**
 * Throw this error in `submit` if an earlier submission of the same form may have taken effect. This happens if a
 * visitor goes back in the browser, changes the form and sends it again. The client then shows the form again with the
 * sent values and a new token, so that the next submission does the work.
 */
export class FormUsed extends PublicError {
  constructor(sentence: Sentence) {
    super('form_used', 409, sentence)
  }
}

export type Form = {
  /** The options for the POST route: `app.post('/notes', form.route, form.submit(…))`. */
  readonly route: { config: { form: Form } }
  /** The path of the form's page for this request. */
  pathOf: (request: FastifyRequest) => string
  /**
   * Handles the GET: shows the form. If there is a draft from before the session ended, the form contains the draft.
   */
  show: Handler
  /**
   * Makes the handler of the POST. If `work` throws a PublicError, the form is shown again with everything that the
   * visitor typed.
   */
  submit: (work: SubmitHandler) => Handler
  /**
   * Answers a POST without a session. Does not call the API. If the draft is short, a cookie keeps it during the login.
   * If the draft is long, the form is shown again with the draft and a link for signing in.
   */
  keepDraft: (request: FastifyRequest, reply: FastifyReply, nextStep: NextStep) => Promise<string>
  /**
   * Answers a POST whose session could not be renewed because of a temporary problem. Does not call the API. The form is
   * shown again with the problem and with everything that the visitor typed.
   */
  showAgain: (request: FastifyRequest, reply: FastifyReply, problem: PublicError) => Promise<string>
}

declare module 'fastify' {
  interface FastifyInstance {
    defineForm(definition: FormDefinition): Form
    handovers: Handovers
    notices: Notices
  }
  interface FastifyContextConfig {
    /**
     * The form that a POST route belongs to. If the session has ended, this form keeps the text that the visitor typed.
     */
    form?: Form
  }
}

const shareResultMs = 10 * 60 * 1000
type FormsOptions = { sealer: Sealer; clock: () => Date }

export const forms = fastifyPlugin<FormsOptions>(
  async (app, { sealer, clock }) => {
    const handovers = createHandovers(sealer, clock)
    app.decorate('handovers', handovers)
    app.decorate('notices', createNotices(sealer, clock))
    app.decorate('defineForm', createFormFactory(createFormTokens(sealer, clock), clock, handovers))
  },
  { name: 'forms', dependencies: ['pages'] },
)

function createFormFactory(tokens: FormTokens, clock: () => Date, handovers: Handovers) {
  return function defineForm({ page, template, data = () => ({}), notInDraft = [] }: FormDefinition): Form {
    const results = new ExpiringMap<Promise<unknown>>(clock)

    const toDraft = (fields: FormFields): FormFields =>
      Object.fromEntries(Object.entries(fields).filter(([name]) => !notInDraft.includes(name)))

    const form: Form = {
      get route() {
        return { config: { form } }
      },

      pathOf({ params }) {
        const values = params as Record<string, string>
        return page.replace(/:(\w+)/g, (_, name) => encodeURIComponent(values[name] ?? ''))
      },

      show: (request, reply) =>
        handovers.take(request, reply, value => {
          const { fields, token } = (value ?? {}) as Partial<Draft>
          return renderForm(request, reply, {
            fields: textFields(fields),
            hasDraft: fields !== undefined && Object.keys(fields).length > 0,
            ...(token && { formToken: tokens.seal(token) }),
          })
        }),

      submit: work => async (request, reply) => {
        const { formToken, ...fields } = textFields(request.body)
        let shownFields: FormFields = fields
        const showAgainWith = (changed: FormFields) => {
          shownFields = changed
        }
        try {
          const path = form.pathOf(request)
          const token = tokens.check(formToken, request, path)
          const once = <T>(task: () => Promise<T>) =>
            shareWork(results, `${token.id} ${path}`, shareResultMs, task) as Promise<T>
          return await work(request, reply, { fields, token, once, showAgainWith })
        } catch (error) {
          if (!isShownInForm(error)) throw error
          const nextToken = error instanceof FormUsed ? undefined : tokens.after(error, formToken, request.visitor)
          // If the session ends while the form is shown again, `keepDraft` needs this token.
          if (nextToken !== undefined) request.body = { ...fields, formToken: nextToken }
          return refuse(request, reply, error, { ...(nextToken && { formToken: nextToken }), fields: shownFields })
        }
      },

      async keepDraft(request, reply, nextStep) {
        // Without a session, there is no visitor for whom a new token could be made. So a form without a token keeps an
        // empty token.
        const { formToken = '', ...fields } = textFields(request.body)
        const texts = request.texts.web.form
        reply.code(401)
        const token = tokens.unseal(formToken)
        const mayHaveActed = token?.mayHaveActed === true
        if (Object.keys(fields).length === 0) {
          // The visitor has typed nothing. But because of this token, the next attempt gets a warning.
          if (token && mayHaveActed) leaveDraft(request, reply, { fields, token })
          const message = mayHaveActed ? texts.inDoubt : texts.nothingDone
          return reply.message({ title: texts.sessionEnded, message, nextStep })
        }
        if (token && leaveDraft(request, reply, { fields: toDraft(fields), token })) {
          const message = mayHaveActed ? texts.draftKeptInDoubt : texts.draftKept
          return reply.message({ title: texts.sessionEnded, message, nextStep })
        }
        return renderForm(request, reply, { formToken, fields, signInHref: nextStep.href, hasNoVisitor: true })
      },

      async showAgain(request, reply, problem) {
        const { formToken = '', ...fields } = textFields(request.body)
        return refuse(request, reply, problem, { formToken, fields, hasNoVisitor: true })
      },
    }

    /**
     * Returns false if the draft does not fit into a cookie. Also returns false if the owner of the form is a random id,
     * because the client cannot recognise this visitor after the login.
     */
    function leaveDraft(request: FastifyRequest, reply: FastifyReply, draft: Draft): boolean {
      const { sessionOwner, isOwnerRandom } = draft.token
      if (isOwnerRandom) return false
      return handovers.leave(reply, { path: form.pathOf(request), sessionOwner, value: draft }, 'lax')
    }

    function refuse(
      request: FastifyRequest,
      reply: FastifyReply,
      problem: PublicError,
      page: Partial<FormPage> & Pick<FormPage, 'fields'>,
    ): Promise<string> {
      logError(request, problem)
      reply.code(problem.statusCode)
      if (problem.retryAfterSeconds) reply.header('retry-after', problem.retryAfterSeconds)
      return renderForm(request, reply, { ...page, problem })
    }

    async function renderForm(
      request: FastifyRequest,
      reply: FastifyReply,
      given: Partial<FormPage> & Pick<FormPage, 'fields'>,
    ): Promise<string> {
      const { texts } = request
      const errors = given.problem instanceof FieldError ? given.problem.fieldsIn(texts) : {}
      const pageData = { action: form.pathOf(request), errors, ...given }
      const tokenWith = (seen?: string) => given.formToken ?? tokens.create(request.visitor, seen)
      // If the session has ended, the title of the page says so, but the heading is still the heading of the form. The
      // title is empty if the function `data` of the form returned no title.
      const withSessionEndedTitle = (content: Record<string, unknown> & { title: string }) =>
        given.signInHref
          ? { ...content, title: texts.web.form.sessionEnded, heading: content.heading ?? (content.title || undefined) }
          : content
      try {
        const { seen, ...more } = await data(request, pageData)
        return await reply.page(
          template,
          withSessionEndedTitle({ title: '', ...pageData, formToken: tokenWith(seen), ...more }),
        )
      } catch (error) {
        // If `signInHref` is set, the form itself says that the session has ended.
        const statusesWithOwnPage = given.signInHref ? [404] : [401, 404]
        const hasOwnPage = error instanceof PublicError && statusesWithOwnPage.includes(error.statusCode)
        if (request.method === 'GET' || hasOwnPage) throw error
        const typed = toDraft(given.fields)
        // Without typed text, the simple form below would only be a button, and would not say what the button does.
        if (given.problem && Object.keys(typed).length === 0) {
          given.problem.nextStep ??= { href: form.pathOf(request), text: texts.web.form.openAgain }
          throw given.problem
        }
        // Only this request contains the typed text, so the text must be shown even if the form's own page fails.
        logError(request, new PublicError('form_not_shown', 500, 'A form could not be shown.', { cause: error }))
        return reply.page(
          'form',
          withSessionEndedTitle({
            ...pageData,
            formToken: tokenWith(),
            title: texts.web.form.plainTitle,
            // This page must send the form to the address of this request, because that address accepts the form.
            // `data` may have set another `action`.
            action: request.url,
            inputs: plainInputs(typed),
            button: texts.web.form.sendAgain,
          }),
        )
      }
    }

    return form
  }
}

/**
 * Whether the form is shown again with this error. Three errors have their own page: a missing page, a session that has
 * ended, and a form that was shown to another visitor.
 */
function isShownInForm(error: unknown): error is PublicError {
  return error instanceof PublicError && ![401, 404].includes(error.statusCode) && error.code !== 'other_visitor'
}

/**
 * Makes inputs for the simple form that is shown if a template fails. The label of each input is the name of its field.
 * The sender of a request can choose any names, so unusual names are left out.
 */
function plainInputs(fields: FormFields): object[] {
  const names = Object.keys(fields).filter(name => /^[\w.-]{1,100}$/.test(name))
  return names.map(name => ({ name, label: name, rows: 3 }))
}

/**
 * Returns the text fields of a body. If the body contains a field twice, the field is left out, because it has more
 * than one value.
 */
function textFields(body: unknown): FormFields {
  const entries = Object.entries(typeof body === 'object' && body !== null ? body : {})
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
}
