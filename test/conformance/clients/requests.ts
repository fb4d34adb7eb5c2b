// Recognises requests to the small client, and calls that the small client makes.
import type { Call } from './platform.ts'
import type { Answer, Visit } from './visit.ts'

// ---- Requests to the small client
export const isLogin = ({ url }: Visit) => url.pathname === '/login'
export const isCallback = ({ url }: Visit) => url.pathname === '/exchangeToken'
export const isCancelled = ({ url }: Visit) => url.pathname === '/cancelled'
/** A page or a form of one application. */
export const isApplication = ({ url }: Visit) => /^\/applications\/(?!new)./.test(url.pathname)
/** A request with any method to the page for changing or removing one application. */
export const isEditOrRemoval = ({ url }: Visit) => /^\/applications\/[^/]+\/(edit|remove)$/.test(url.pathname)
/** Whether the visitor sends the form for a new application. */
export const isCreationForm = ({ method, url }: Visit) => method === 'POST' && url.pathname === '/applications'
/** Whether the visitor sends a form of one application. `action`: the last part of the form's path. */
export const isForm = ({ method, url }: Visit, action = '') =>
  method === 'POST' && new RegExp(`^/applications/[^/]+/${action}`).test(url.pathname)
/** Whether the client has refused a callback. `name`: a parameter that the callback must contain. */
export const isRefusedCallback = ({ status }: Answer, visit: Visit, name?: string) =>
  isCallback(visit) && status >= 400 && (name === undefined || visit.query.has(name))
export const cookieOf = ({ cookies }: Visit, name: string) => cookies.find(([key]) => key === name)?.[1]

// ---- Calls to the platform
export const isOfApi = ({ url }: Call) => /\/(apps|identities)\/v1/.test(url)
export const isOfGroups = ({ url }: Call) => url.includes('/identities/')
export const isList = ({ method, url }: Call) => method === 'GET' && url.endsWith('/apps/v1')
export const isCreation = ({ method, url }: Call) => method === 'POST' && url.endsWith('/apps/v1')
/** Whether the client reads one application. */
export const isRead = ({ method, url }: Call) => method === 'GET' && url.includes('/apps/v1/')
export const isRenewal = ({ body }: Call) => body?.includes('grant_type=refresh_token') ?? false
