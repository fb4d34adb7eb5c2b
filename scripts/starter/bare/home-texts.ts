// Yours: the text of the page in home.ts, which signed-in visitors see.

export const homeTexts = {
  /** The text of links to the page. */
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
