// Yours: the text of the start page. Replace it with your own text.

export const startTexts = {
  title: 'Start',
  lead: 'You sign in at the platform’s login portal, so this site never sees your password.',
  /** The heading for signed-in visitors. */
  welcome: (name: string) => `Welcome, ${name}`,
  /** The heading for signed-in visitors whose name the portal does not return. */
  welcomeWithoutName: 'Welcome',
  /** The link to the site's home. */
  goHome: 'Continue',
  homeText: 'The next page asks the platform’s API how many applications you have.',
  signIn: 'Sign in',
}

declare module './texts.ts' {
  interface Texts {
    start: typeof startTexts
  }
}
