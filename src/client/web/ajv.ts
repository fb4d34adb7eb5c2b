// The settings of Ajv, which checks queries, forms and the API's answers with JSON Schemas.
import AjvCompiler from '@fastify/ajv-compiler'

/**
 * A schema does not change the values that it checks: no string becomes a number, and no field is removed. But if a
 * field is missing and its schema has a `default`, the field gets this value. The types from json-schema-to-ts say the
 * same.
 */
export const ajvOptions = { customOptions: { coerceTypes: false, removeAdditional: false } }

/** All servers of a process share the compiled schemas: tests start many servers, and compiling takes time. */
export const buildValidator = AjvCompiler()
