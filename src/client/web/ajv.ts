// The settings of Ajv, which checks queries, forms and the API's answers with JSON Schemas.
import AjvCompiler from '@fastify/ajv-compiler'

/**
 * Ajv converts no value and removes no field. It only adds a missing field whose schema has a `default`. The types from
 * json-schema-to-ts agree with this.
 */
export const ajvOptions = { customOptions: { coerceTypes: false, removeAdditional: false } }

/** All servers of a process share the compiled schemas: tests start many servers, and compiling takes time. */
export const buildValidator = AjvCompiler()

const compile = buildValidator({}, ajvOptions)

/**
 * Returns the function that checks an answer of the API with this JSON Schema. Ajv compiles each schema only once. This
 * function does not use `request.compileValidationSchema`, because a product may set another validator compiler for its
 * own routes.
 */
export function validatorFor(schema: object): (value: unknown) => unknown {
  return compile({ schema, method: '', url: '' })
}
