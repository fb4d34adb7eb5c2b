// Checks answers of the application API, the portal's calls and the laboratory against their own OpenAPI documents.
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'

type Operations = Record<string, { responses: Record<string, { content?: object }> }>

/** Throws if the status, the content type or the fields of the answer do not match the OpenAPI document. */
export type CheckAnswer = (method: string, url: string, answer: LightMyRequestResponse) => void

export async function readDescription(
  server: FastifyInstance,
  call: InjectOptions = { url: '/apps/v1/openapi.json' },
): Promise<CheckAnswer> {
  const document = closeObjects((await server.inject(call)).json()) as { paths: Record<string, Operations> }
  // Do not validate the schemas here, because that takes longer than checking all answers. Other tests validate the
  // documents.
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false })
  addFormats.default(ajv)
  ajv.addSchema(document, 'api')
  const templates = Object.keys(document.paths).map(path => {
    const pattern = path.split(/\{\w+\}/).map(part => part.replaceAll('.', '\\.'))
    return { path, pattern: new RegExp(`^${pattern.join('[^/]{1,100}')}$`) }
  })

  return (method, url, answer) => {
    const path = templates.find(({ pattern }) => pattern.test(url.split('?')[0] ?? ''))?.path
    const operation = path && document.paths[path]?.[method.toLowerCase()]
    if (!path || !operation) return
    const { statusCode } = answer
    const where = `${method} ${path} ${statusCode}`
    const described = operation.responses[statusCode]
    if (!described) throw new Error(`${where} is not described`)
    if (!described.content) {
      if (answer.body !== '') throw new Error(`${where} has a body: ${answer.body}`)
      return
    }
    if (answer.headers['content-type'] !== 'application/json; charset=utf-8')
      throw new Error(`${where} has the type ${answer.headers['content-type']}`)
    const pointer = [
      'paths',
      path,
      method.toLowerCase(),
      'responses',
      statusCode,
      'content',
      'application/json',
      'schema',
    ]
    const $ref = `api#/${pointer.map(part => encodeURIComponent(String(part).replaceAll('/', '~1'))).join('/')}`
    const validate: ValidateFunction = ajv.getSchema($ref) ?? ajv.compile({ $ref })
    if (!validate(answer.json())) throw new Error(`${where}: ${ajv.errorsText(validate.errors)} in ${answer.body}`)
  }
}

/**
 * Forbids unknown fields. The document itself allows unknown fields, because callers should ignore them. But if an
 * answer has a field that the document does not name, the document has a mistake.
 */
function closeObjects(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closeObjects)
  if (typeof schema !== 'object' || schema === null) return schema
  const closed = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closeObjects(value)]))
  return closed.type === 'object' && closed.properties ? { ...closed, additionalProperties: false } : closed
}
