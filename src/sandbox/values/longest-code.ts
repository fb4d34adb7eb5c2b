// The limit for the lifetime of a code. The settings, the calls of the laboratory and its explanations use this limit.

export const longestCodeSeconds = 600
