// Yours: values for the settings of your product, for the tests that build or start the client with its product.
export const productEnvironment: Record<string, string> = {}
