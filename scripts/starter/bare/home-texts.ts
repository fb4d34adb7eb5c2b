// Yours: what a signed-in visitor reads on the page of home.ts.

export const homeTexts = {
  /** A link to the page. */
  home: 'Home',
  title: 'You are signed in',
  applications: (count: number) =>
    `The platform lists ${count} ${count === 1 ? 'application' : 'applications'} of yours.`,
  startPage: 'Start page',
}

declare module '../../../src/client/texts.ts' {
  interface Texts {
    home: typeof homeTexts
  }
}
