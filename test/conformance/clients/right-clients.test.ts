// Tests that correct clients fail no check. This file judges the small client, command.test.ts judges the client of
// this project, and right-clients.ci.ts judges a client that is built differently.
import { createHmac, randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { checks } from '../../../src/conformance/checks.ts'
import type { Result } from '../../../src/conformance/result.ts'
import { openStage, type Stage } from '../support/stage.ts'
import { type Behaviour, correct } from './behaviour.ts'
import { answerWith, bodyWith, crashIf, exchangeWith, headersWith, startWith, withStyle } from './changes.ts'
import { buildClient } from './client.ts'
import { buildFaultyClient } from './faulty-client.ts'
import { metadataReader } from './mistakes/metadata.ts'
import { secretOfOneProcess } from './mistakes/pages/creating.ts'
import { inTurn } from './mistakes/raw-requests.ts'
import { goOn } from './pages.ts'
import { seal, unseal } from './seal.ts'
import { Refusal, type Visit } from './visit.ts'

/** A list of groups in which nothing is selected at first. */
const groupList = (options: string) =>
  `<label>groupId <select name="groupId" required><option value="" disabled selected>Please choose</option>${options}</select></label>`

/** When a refused form is shown again, its list of groups contains only the group that the visitor chose. */
const chosenAgain = (chosen: string) => `<label>groupId <input name="groupId" value="${correct.html(chosen)}"></label>`

/** Correct forms for a new application. Visitors choose the group in different ways. */
const groupFields: Record<string, Partial<Behaviour>> = {
  'a list with a disabled placeholder': {
    groupField: ({ behaviour }, groups, chosen) =>
      groups.length > 0 ? groupList(groups.map(behaviour.groupOption).join('')) : chosenAgain(chosen),
  },
  'radio buttons of which none is checked': {
    groupField: ({ behaviour }, groups, chosen) =>
      groups
        .map(
          ({ id, name }) => `<label><input type="radio" name="groupId" value="${id}">${behaviour.html(name)}</label>`,
        )
        .join('') || chosenAgain(chosen),
  },
  'a list whose options have sealed ids': {
    groupField({ settings, behaviour }, groups, chosen) {
      const sealed = groups.map(group => ({ ...group, id: seal(settings.key, 'group', group.id) }))
      return groups.length > 0 ? groupList(sealed.map(behaviour.groupOption).join('')) : chosenAgain(chosen)
    },
    formOf({ settings }, body) {
      const form = new URLSearchParams(body)
      const id = unseal(settings.key, 'group', form.get('groupId') ?? '')
      if (typeof id === 'string') form.set('groupId', id)
      return `${form}`
    },
  },
}

const isBlamed = ({ verdict }: Result) => verdict !== 'passed' && verdict !== 'not applicable'
const tell = ({ id, verdict, reason }: Result) => `${id} ${verdict}: ${reason}`

/** Judges the small client with this change. Returns the result of the check. */
async function judgeChange(t: Test, change: Partial<Behaviour>, id: string): Promise<Result> {
  const stage = await openStage()
  t.teardown(stage.close)
  const results = await stage.judge(
    settings => buildClient(settings, { ...correct, ...change }),
    checks.filter(check => check.id === id),
  )
  t.equal(results.length, 1, 'the check is there')
  return results[0]!
}

t.test('the small client, which is correct, fails no check', async t => {
  // real-browser.test.ts judges this client in Chromium.
  const stage = await openStage([], { hasBrowser: false })
  t.teardown(stage.close)
  const results = await stage.judge(buildFaultyClient, checks)
  t.same(results.filter(isBlamed).map(tell), [])
})

t.test('a correct client passes all metadata checks if it reads the metadata of the portal', async t => {
  const stage = await openStage()
  t.teardown(stage.close)
  const results = await stage.judge(
    settings => buildClient(settings, { ...correct, ...metadataReader }),
    checks.filter(({ group }) => group === 'metadata'),
  )
  t.same(results.filter(isBlamed).map(tell), [])
  t.ok(results.filter(({ verdict }) => verdict === 'passed').length > 8)
})

t.test('a client that keeps its random state unchanged in a cookie passes the check `state-not-of-time`', async t => {
  const result = await judgeChange(t, { sealLogin: (_visit, _name, { state }) => state }, 'state-not-of-time')
  t.equal(result.verdict, 'passed')
})

t.test(
  'if a client serves one request at a time and waits for each body, the check `raw-body-unfinished` is undecided and does not fail',
  async t => {
    const result = await judgeChange(
      t,
      inTurn(() => true),
      'raw-body-unfinished',
    )
    t.match(result, { verdict: 'undecided', reason: /one request at a time/ })
  },
)

t.test('if a client does not encode the slash of an id in a link, no check of a MUST fails', async t => {
  const stage = await openStage()
  t.teardown(stage.close)
  const results = await stage.judge(
    settings => buildFaultyClient(settings, 'id-pasted-into-a-link'),
    checks.filter(({ id }) => id.startsWith('list-id-')),
  )
  t.same(
    results.filter(isBlamed).map(({ id, verdict }) => `${id} ${verdict}`),
    ['list-id-link warned'],
  )
})

t.test('if a client answers a method without a route with 404, the check `start-methods-refused` passes', async t => {
  const notFound = answerWith(answer => (answer.status === 405 ? { ...answer, status: 404, headers: {} } : answer))
  const result = await judgeChange(t, notFound, 'start-methods-refused')
  t.equal(tell(result), 'start-methods-refused passed: ')
})

t.test('if a client closes the connection after an invalid request target, no check fails', async t => {
  const stage = await openStage()
  t.teardown(stage.close)
  const results = await stage.judge(
    settings => buildClient(settings, { ...correct, ...crashIf(({ target }) => target === '%') }),
    checks.filter(({ id }) => id.startsWith('raw-escapes')),
  )
  t.same(results.filter(isBlamed).map(tell), [])
})

t.test(
  'if a server completes a relative Location with the Host header, and caches must not keep the answer, the check `host-not-believed` passes',
  async t => {
    const stage = await openStage()
    t.teardown(stage.close)
    const results = await stage.judge(
      settings => buildFaultyClient(settings, 'redirects-from-host'),
      checks.filter(({ id }) => id.startsWith('host-not-')),
    )
    t.same(
      results.map(({ id, verdict }) => [id, verdict]),
      [
        ['host-not-believed', 'passed'],
        ['host-not-in-redirects', 'not followed'],
      ],
    )
  },
)

t.test(
  'if a client keeps the redirect URI with the login, and finishes the login with this redirect URI after a restart, the check `restart-other-redirect-uri` passes',
  async t => {
    const begunWith = new Map<string, string>()
    const keepsRedirectUri: Partial<Behaviour> = {
      ...startWith(query => void begunWith.set(query.get('state')!, query.get('redirect_uri')!)),
      ...exchangeWith(form => form.set('redirect_uri', begunWith.get(form.get('state')!)!)),
      sealLogin: (visit, name, login) => correct.seal(visit, name, login),
      unsealLogin: (visit, name, text) => correct.unseal(visit, name, text),
    }
    const result = await judgeChange(t, keepsRedirectUri, 'restart-other-redirect-uri')
    t.equal(tell(result), 'restart-other-redirect-uri passed: ')
  },
)

t.test(
  'if a client removes white space from the values of a callback, the check `callback-code-final-newline` does not apply',
  async t => {
    const trims: Partial<Behaviour> = { singleParameter: (query, name) => correct.singleParameter(query, name).trim() }
    const result = await judgeChange(t, trims, 'callback-code-final-newline')
    t.match(result, { verdict: 'not applicable', reason: 'removes the line break' })
  },
)

t.test(
  'if a framework refuses unknown hosts with a page without security headers, no check of a MUST fails',
  async t => {
    const stage = await openStage()
    t.teardown(stage.close)
    const results = await stage.judge(
      settings => buildFaultyClient(settings, 'other-host-refused-without-headers'),
      checks.filter(({ id }) => /host|^callback-headers$|^raw-absolute-target$/.test(id)),
    )
    t.same(
      results.filter(isBlamed).map(({ id, verdict }) => `${id} ${verdict}`),
      ['other-host-nosniff warned', 'other-host-policy warned'],
    )
  },
)

t.test('a correct client whose host name ends with .localhost fails no check', async t => {
  const stage = await openStage([], { hasBrowser: false, host: 'app.localhost' })
  t.teardown(stage.close)
  const groups = ['starting-a-login', 'exchange', 'raw-requests', 'signing-out']
  const results = await stage.judge(
    buildFaultyClient,
    checks.filter(({ group }) => groups.includes(group)),
  )
  t.same(results.filter(isBlamed).map(tell), [])
})

for (const [what, change] of Object.entries(groupFields))
  t.test(`if visitors choose the group of a new application in ${what}, no check of the form fails`, async t => {
    const stage = await openStage()
    t.teardown(stage.close)
    const results = await stage.judge(
      settings => buildClient(settings, { ...correct, ...change }),
      checks.filter(({ id }) => /^create-(works|once|chosen|refused|other-visitor)|^chromium-create/.test(id)),
    )
    // If the ids are sealed, the suite cannot tell which of several groups it must choose.
    const isUnclear = ({ verdict, reason }: Result) => verdict === 'undecided' && reason.includes('several groups')
    t.same(results.filter(one => isBlamed(one) && !isUnclear(one)).map(tell), [])
    t.match(
      results.find(({ id }) => id === 'create-works'),
      { verdict: 'passed' },
    )
  })

t.test('if a client opens a new connection for each call, the check `list-idle-connection` does not apply', async t => {
  const opensConnections: Partial<Behaviour> = {
    send: (visit, call) => correct.send(visit, { ...call, headers: { ...call.headers, connection: 'close' } }),
    isConnectionLost: () => false,
  }
  const result = await judgeChange(t, opensConnections, 'list-idle-connection')
  t.match(result, { verdict: 'not applicable', reason: 'a new connection for each call' })
})

/** Style sheets that browsers may keep. Each client is correct. */
const keptStyles: Record<string, { address: string; cacheControl: string }> = {
  'for an hour': { address: '/style.css', cacheControl: 'public, max-age=3600' },
  'for a year at an address with a hash': {
    address: '/style.Bdaqtxzw.css',
    cacheControl: 'public, max-age=31536000, immutable',
  },
  'for a year at an address with a version': {
    address: '/style.css?v=2',
    cacheControl: 'public, max-age=31536000, immutable',
  },
  'only if they ask the client at each use': {
    address: '/style.css',
    cacheControl: 'public, max-age=31536000, no-cache',
  },
}

for (const [what, { address, cacheControl }] of Object.entries(keptStyles))
  t.test(`if browsers may keep a style sheet ${what}, the check \`every-file-versioned\` passes`, async t => {
    let served = 0
    const headers = { 'content-type': 'text/css; charset=utf-8', 'cache-control': cacheControl }
    const style = withStyle(headers, 'p { margin: 0 }', address)
    const countingStyle: Partial<Behaviour> = {
      async aroundRequest(visit, next) {
        if (visit.url.pathname + visit.url.search === address) served++
        return style.aroundRequest!(visit, next)
      },
    }
    const result = await judgeChange(t, countingStyle, 'every-file-versioned')
    t.equal(tell(result), 'every-file-versioned passed: ')
    t.ok(served > 0, 'the check has seen the style sheet')
  })

t.test(
  'if a client keeps a new secret for the visitor who made it, no check accuses it of showing the secret to others',
  async t => {
    const stage = await openStage()
    t.teardown(stage.close)
    const secretOfVisitor: Partial<Behaviour> = {
      created({ memory }, text, visitor) {
        memory.set(`secret of ${visitor}`, text)
        return { status: 303, headers: { location: '/applications' } }
      },
      ...answerWith((answer, visit) => {
        const session = visit.behaviour.readSession(visit)
        const text = session && visit.memory.get(`secret of ${session.visitor}`)
        if (!text || visit.method !== 'GET' || visit.url.pathname !== '/applications') return answer
        visit.memory.delete(`secret of ${session.visitor}`)
        return { ...answer, body: `${answer.body}<p>${correct.html(`${text}`)}</p>` }
      }),
    }
    const results = await stage.judge(
      settings => buildClient(settings, { ...correct, ...secretOfVisitor }),
      checks.filter(({ id }) => id.startsWith('next-visitor-secret-') || id === 'next-visitor-new-secret'),
    )
    t.ok(results.some(({ id, verdict }) => id === 'next-visitor-secret-elsewhere' && verdict === 'passed'))
    t.same(results.filter(isBlamed).map(tell), [])
  },
)

t.test(
  'if a client often loses the secret of a new application, the check for unknown JSON members is undecided',
  async t => {
    const { verdict, reason } = await judgeChange(t, secretOfOneProcess, 'unknown-members-everywhere')
    t.equal(verdict, 'undecided')
    t.match(reason, 'a creation also fails without unknown members')
  },
)

/** Judges the small client with this change. Returns the checks of the login cookie that the client does not pass. */
const judgeLoginCookies = async (stage: Stage, change: Partial<Behaviour>) => {
  const results = await stage.judge(
    settings => buildClient(settings, { ...correct, ...change }),
    checks.filter(({ id }) => id.startsWith('login-cookie-')),
  )
  return results.filter(isBlamed).map(tell)
}

t.test(
  'if the login path also sets cookies that are not about the login, no check of the login cookie fails',
  async t => {
    const stage = await openStage()
    t.teardown(stage.close)
    const afterStart: Behaviour['afterStart'] = ({ setCookies }, answer) => {
      setCookies.push(`XSRF-TOKEN=${randomUUID()}; Path=/; Max-Age=7200; SameSite=Strict`)
      setCookies.push('language=en; Path=/; Max-Age=31536000')
      return answer
    }
    t.same(await judgeLoginCookies(stage, { afterStart }), [])
  },
)

t.test('if a session on the server keeps the login, no check of the login cookie fails', async t => {
  const stage = await openStage()
  t.teardown(stage.close)
  const inServerSession: Partial<Behaviour> = {
    loginCookie: () => '__Host-id',
    loginAttributes: correct.loginAttributes.replace('Max-Age=600', 'Max-Age=1209600'),
    sealLogin({ memory }, _name, login) {
      const id = randomUUID()
      memory.set(`session ${id}`, login)
      return id
    },
    unsealLogin: ({ memory }, _name, id) => memory.get(`session ${id}`),
    forgetLogin({ memory, cookies }) {
      for (const [, id] of cookies) memory.delete(`session ${id}`)
    },
  }
  t.same(await judgeLoginCookies(stage, inServerSession), [])
})

t.test(
  'if the server keeps the tokens, and a long cookie contains only the id of the session, no check of the cookies fails',
  async t => {
    const stage = await openStage()
    t.teardown(stage.close)
    const changes: Partial<Behaviour> = {
      sessionAttributes: () => 'Path=/; HttpOnly; Secure; SameSite=Strict',
      refreshAttributes: () => 'Path=/; HttpOnly; Secure; SameSite=Strict',
      seal(visit, name, value) {
        if (!name.startsWith('__Host-')) return correct.seal(visit, name, value)
        const id = randomUUID()
        visit.memory.set(`${name} ${id}`, value)
        return correct.seal(visit, name, { id, padding: 'x'.repeat(180) })
      },
      unseal(visit, name, text) {
        const value = correct.unseal(visit, name, text)
        return name.startsWith('__Host-') ? visit.memory.get(`${name} ${(value as { id?: string })?.id}`) : value
      },
    }
    const results = await stage.judge(
      settings => buildClient(settings, { ...correct, ...changes }),
      checks.filter(({ id }) => id === 'cookie-max-age' || id === 'cookie-refresh-age'),
    )
    t.same(results.filter(isBlamed).map(tell), [])
  },
)

/** The token of a form, which is bound to the visitor. */
const formToken = (visit: Visit) =>
  createHmac('sha256', visit.settings.key)
    .update(`${correct.readSession(visit)?.visitor}`)
    .digest('hex')

const ownForms = /<form method="post" action="\/(?!logout)[^"]*/g

/** Protects each form only with a token. `isSent` returns true if the request contains the token. */
const protectedByToken = (
  addToken: (body: string, token: string) => string,
  isSent: (visit: Visit, form: URLSearchParams, token: string) => boolean,
): Partial<Behaviour> => ({
  isFromHere: visit => visit.url.pathname !== '/logout' || correct.isFromHere(visit),
  isFormOf: () => true,
  isUseOf: () => true,
  ...bodyWith((body, visit) => addToken(body, formToken(visit))),
  formOf(visit, body) {
    if (visit.url.pathname === '/logout') return body
    const form = new URLSearchParams(body)
    const token = formToken(visit)
    if (!isSent(visit, form, token)) throw new Refusal(403, 'This form was not sent from here.')
    form.delete(token)
    return `${form}`
  },
})

const tokenPlaces: Record<string, Partial<Behaviour>> = {
  'in the address of the form': protectedByToken(
    (body, token) => body.replace(ownForms, `$&?csrf=${token}`),
    ({ query }, _form, token) => query.get('csrf') === token,
  ),
  'as the name of a field': protectedByToken(
    (body, token) => body.replace(ownForms, `$&"><input type="hidden" name="${token}" value="1`),
    (_visit, form, token) => form.has(token),
  ),
}

for (const [place, change] of Object.entries(tokenPlaces))
  t.test(`if a client protects its forms only with a token ${place}, no check of forged forms fails`, async t => {
    const stage = await openStage()
    t.teardown(stage.close)
    const results = await stage.judge(
      settings => buildClient(settings, { ...correct, ...change }),
      checks.filter(({ id }) =>
        /^(create-(cross-site|same-site|forged-.*)|raw-create-(similar-origin|without-origin)|(other-)?forms-forged)$/.test(
          id,
        ),
      ),
    )
    t.same(results.filter(isBlamed).map(tell), [])
    t.ok(results.filter(({ verdict }) => verdict === 'passed').length >= 12)
  })

t.test(
  'if a client splits its session and keeps the number of parts in another cookie, the check `cookie-unguessable` passes',
  async t => {
    const name = correct.sessionCookie
    const result = await judgeChange(
      t,
      {
        setCookie(visit, key, value, attributes) {
          const sealed = correct.seal(visit, key, value)
          const middle = Math.ceil(sealed.length / 2)
          visit.setCookies.push(
            `${key}=chunks-2; ${attributes}`,
            `${key}C1=${sealed.slice(0, middle)}; ${attributes}`,
            `${key}C2=${sealed.slice(middle)}; ${attributes}`,
          )
        },
        readCookies(header) {
          const cookies = new Map(correct.readCookies(header))
          if (cookies.has(name)) cookies.set(name, `${cookies.get(`${name}C1`)}${cookies.get(`${name}C2`)}`)
          return [...cookies]
        },
        // With a renewal, the visitor would stay signed in without the number of parts.
        readRefresh: () => undefined,
      },
      'cookie-unguessable',
    )
    t.equal(tell(result), 'cookie-unguessable passed: ')
  },
)

t.test(
  'if the page after a login sets a cookie for the language, and caches may keep this page, the check `cookie-answers-not-kept` passes',
  async t => {
    const isStartPage = ({ url }: Visit) => url.pathname === '/'
    const result = await judgeChange(
      t,
      {
        ...headersWith(visit => (isStartPage(visit) ? { 'cache-control': undefined } : {})),
        afterLogin: visit => goOn(visit, '/'),
        async aroundRequest(visit, next) {
          if (isStartPage(visit)) visit.setCookies.push('lang=en; Path=/')
          return next()
        },
      },
      'cookie-answers-not-kept',
    )
    t.equal(tell(result), 'cookie-answers-not-kept passed: ')
  },
)
