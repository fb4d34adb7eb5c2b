// Yours: the page for a signed-in visitor. It calls the API once.
import type { FastifyPluginAsync } from 'fastify'
import { homeTexts } from './home-texts.ts'

const collectionSchema = {
  type: 'object',
  required: ['ItemList'],
  properties: { ItemList: { type: 'array' } },
} as const

export const home: FastifyPluginAsync = async app => {
  app.addTexts({ home: homeTexts })

  app.get('/home', async (request, reply) => {
    const { ItemList } = await request.visitor.api.get('/apps/v1', collectionSchema)
    const texts = request.texts.home
    return reply.message({
      title: texts.title,
      message: texts.applications(ItemList.length),
      nextStep: { href: '/', text: texts.startPage },
    })
  })
}
