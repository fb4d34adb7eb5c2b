// Yours: the page of a signed-in visitor, which calls the API once.
import type { FastifyPluginAsync } from 'fastify'

const collectionSchema = {
  type: 'object',
  required: ['ItemList'],
  properties: { ItemList: { type: 'array' } },
} as const

export const home: FastifyPluginAsync = async app => {
  app.get('/home', async (request, reply) => {
    const { ItemList } = await request.visitor.api.get('/apps/v1', collectionSchema)
    return reply.message({
      title: 'You are signed in',
      message: `The platform lists ${ItemList.length} applications of yours.`,
      nextStep: { href: '/', text: 'Start page' },
    })
  })
}
