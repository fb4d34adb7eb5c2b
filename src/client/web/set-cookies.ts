// Puts cookies on an answer, all with the attributes that the __Host- prefix demands.
import type { FastifyReply } from 'fastify'
import type { Cookie } from '../session/cookies.ts'

export function setCookies(reply: FastifyReply, cookies: Cookie[]): void {
  for (const { name, value, maxAgeSeconds, sameSite } of cookies)
    reply.setCookie(name, value, { path: '/', secure: true, httpOnly: true, sameSite, maxAge: maxAgeSeconds })
}
