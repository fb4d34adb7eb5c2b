// The first page of docs/make-it-yours.md. The guide contains this page.
import type { FastifyPluginAsync } from 'fastify'

const list = { type: 'object', required: ['ItemList'], properties: { ItemList: { type: 'array' } } } as const

export const hello: FastifyPluginAsync = async app => {
  app.get('/hello', async (request, reply) => {
    const { ItemList } = await request.visitor.api.get('/apps/v1', list)
    return reply.message({
      title: 'Hello',
      message: `You have ${ItemList.length} applications.`,
      nextStep: { href: '/', text: 'Start page' },
    })
  })
}
