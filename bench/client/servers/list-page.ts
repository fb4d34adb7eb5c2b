// The list page of every server except our client. The page makes one API call, uses our own templates, and does not
// check the answer.
import { fileURLToPath } from 'node:url'
import { Eta } from 'eta'
import { request } from 'undici'
import { applicationsTexts } from '../../../src/client/applications/texts.ts'
import { around } from '../../../src/client/texts.ts'
import { webTexts } from '../../../src/client/web/texts.ts'

type Record = { '@id': string; data: { name: string; description: string }; metadata: { createdAt: string } }

const eta = new Eta({ views: fileURLToPath(new URL('../../../views/client', import.meta.url)), cache: true })
const texts = { lang: 'en', applications: applicationsTexts, web: webTexts }
const asset = (name: string) => `/assets/${name}`

/** All servers call the API with undici, because the bench compares the sign-in libraries, not the API calls. */
export async function showList(accessToken: string): Promise<string> {
  const headers = { authorization: `Bearer ${accessToken}` }
  const { body } = await request(`${process.env.API_URL}/apps/v1`, { headers })
  const { ItemList } = (await body.json()) as { ItemList: Record[] }
  const applications = ItemList.map(record => ({
    id: record['@id'],
    name: record.data.name,
    description: record.data.description,
    createdAt: new Date(record.metadata.createdAt),
  }))
  return eta.render('/applications/list.eta', {
    title: 'Your applications',
    texts,
    around,
    asset,
    formatTime: (time: Date) => `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`,
    site: { name: 'Applications', home: '/applications' },
    links: [{ href: '/applications', text: 'Your applications' }],
    visitor: { sessionOwner: 'visitor-1', name: '', expiresAt: new Date() },
    applications,
    clientId: process.env.CLIENT_ID,
    search: '',
    order: 'newest',
    found: applications.length,
    total: applications.length,
    page: 1,
    pages: 1,
    notice: undefined,
  })
}
