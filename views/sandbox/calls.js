// Swagger UI as this page wants it: nothing but the calls, examples that work for whoever is authorized, and what
// assistive technology needs and it lacks.
const place = document.getElementById('calls')
const caller = document.getElementById('caller')
const dark = matchMedia('(prefers-color-scheme: dark)')
const followScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', followScheme)
followScheme()

let described
let isChange = false
let token

/** Leaves out the introduction, which our page has, and the choice of server: only authorization and the calls remain. */
const layout = ({ React }) => ({
  components: {
    CallsLayout({ getComponent }) {
      const part = name => React.createElement(getComponent(name, true), { key: name })
      return React.createElement('div', { className: 'swagger-ui' }, [
        React.createElement(getComponent('SvgAssets'), { key: 'SvgAssets' }),
        part('errors'),
        'authorizes' in place.dataset && part('AuthorizeBtnContainer'),
        part('operations'),
      ])
    },
  },
})

/** For each call that is opened, Swagger UI would read the whole document again to follow its references: see inline. */
const resolver = () => ({
  fn: {
    resolveSubtree: async (document, path) => ({ errors: [], spec: path.reduce((at, key) => at?.[key], document) }),
  },
})

/** The same value with each reference replaced by its schema, titled with its name. No schema refers to itself. */
function inline(value, document) {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(one => inline(one, document))
  const { $ref, ...own } = value
  const meant = $ref
    ?.split('/')
    .slice(1)
    .reduce((at, key) => at[key], document)
  const entries = Object.entries({ ...meant, ...own }).map(([key, one]) => [key, inline(one, document)])
  return { ...Object.fromEntries(entries), ...($ref && { $$ref: $ref }) }
}

/** Gives names to elements without one, and keyboard access to areas that scroll. */
function adjust() {
  const adjustEach = (selector, change) => {
    for (const element of place.querySelectorAll(selector)) change(element)
  }
  adjustEach('textarea.body-param__text:not([aria-label])', body => body.setAttribute('aria-label', 'Request body'))
  adjustEach('tr select:not([aria-label])', select => {
    const name = select.closest('tr').querySelector('.parameter__name')?.firstChild?.textContent
    if (name) select.setAttribute('aria-label', name)
  })
  adjustEach(
    '.body-param-options select:not([aria-label]), .response-control-media-type select:not([aria-label])',
    one => one.setAttribute('aria-label', 'Media type'),
  )
  adjustEach('pre:not([tabindex])', text => text.setAttribute('tabindex', '0'))
  adjustEach('table[role="region"]', table => table.removeAttribute('role'))
  adjustEach('.close-modal:not([aria-label])', button => button.setAttribute('aria-label', 'Close'))
  adjustEach('.copy-to-clipboard button:not([title])', button => {
    button.title = 'Copy'
  })
  adjustEach('.authorization__btn:not([title])', button => {
    button.title = 'Enter an access token'
  })
  adjustEach('.modal-btn[aria-label]', button => button.removeAttribute('aria-label'))
  // Swagger UI leaves levels out, such as h4 and then h6. The page's own heading before the calls is an h2.
  let level = 2
  adjustEach('h1, h2, h3, h4, h5, h6', heading => {
    level = Math.min(Number(heading.tagName[1]), level + 1)
    heading.setAttribute('aria-level', level)
  })
}

async function start() {
  new MutationObserver(adjust).observe(place, { childList: true, subtree: true })
  const document = await (await fetch(place.dataset.document)).json()
  described = inline(document, document)
  // The public address may be another origin than this page's, and the policy forbids those.
  described.servers = [{ url: location.origin }]
  const ui = SwaggerUIBundle({
    spec: withExamples({}),
    domNode: place,
    layout: 'CallsLayout',
    plugins: [layout, resolver],
    deepLinking: false,
    tryItOutEnabled: true,
    persistAuthorization: true,
    validatorUrl: null,
    requestInterceptor: request => {
      isChange = ['POST', 'DELETE'].includes(request.method)
      return request
    },
    responseInterceptor: response => {
      // Ids of things that were just made become examples. Ids of removed things stop being examples.
      if (caller && isChange && response.ok) setTimeout(() => fillIn(ui))
      return response
    },
  })
  if (!caller) return
  ui.getStore().subscribe(() => {
    const { accessToken } = ui.authSelectors.authorized()?.toJS() ?? {}
    if (accessToken?.value === token) return
    token = accessToken?.value
    fillIn(ui)
  })
}

/** Puts ids of the caller into the examples. */
async function fillIn(ui) {
  const asked = token
  const own = asked ? await findOwn(asked) : {}
  if (asked !== token) return
  caller.textContent = tell(own)
  ui.specActions.updateJsonSpec(withExamples(own))
}

async function findOwn(accessToken) {
  const userId = readSubject(accessToken)
  const ask = async path => {
    const response = await fetch(path, { headers: { authorization: `Bearer ${accessToken}` } })
    return response.ok ? (await response.json()).ItemList : undefined
  }
  const applications = await ask('/apps/v1')
  if (!userId || !applications) return { isRefused: true }
  const groups = (await ask(`/identities/v1/${encodeURIComponent(userId)}/links?type=MemberOf`)) ?? []
  return { userId, group: groups[0], application: applications.at(-1) }
}

function tell({ isRefused, userId, group, application }) {
  if (!token) return 'The examples use IDs of your own once you have authorized.'
  if (isRefused) return 'The API does not accept this access token. Log out, and authorize with another one.'
  if (!group)
    return `You are authorized as user ${userId}. Create a group with POST /identities/v1: an application needs one.`
  const others = application ? ` and your application “${application.data.name}”` : ''
  return `You are authorized. The examples use your group “${group.data.name}”${others}.`
}

/** Of a JWT; undefined for any other text. */
function readSubject(accessToken) {
  try {
    return JSON.parse(atob(accessToken.split('.')[1].replaceAll('-', '+').replaceAll('_', '/'))).sub
  } catch {
    return undefined
  }
}

function withExamples({ userId, group, application }) {
  const filled = structuredClone(described)
  const ids = { user_id: userId, group_id: group?.to, app_id: application?.['@id'] }
  for (const operation of Object.values(filled.paths).flatMap(methods => Object.values(methods))) {
    for (const parameter of operation.parameters ?? []) {
      const known = ids[parameter.name] ?? parameter.schema.enum?.[0]
      if (known) parameter.example = known
    }
    const body = operation.requestBody?.content['application/json']
    if (body?.schema.examples) body.example = structuredClone(body.schema.examples[0])
    if (group && body?.example?.data.groupId) body.example.data.groupId = group.to
  }
  return filled
}

void start()
