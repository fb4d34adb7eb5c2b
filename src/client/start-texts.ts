// Yours: what visitors read on the start page.

export const startTexts = {
  title: 'Start',
  heading: 'Your applications on the platform, in one place',
  lead: 'Register an application, get its client ID and client secret, and keep its details up to date. You sign in at the platform’s login portal, so this site never sees your password.',
  /** For signed-in visitors. */
  welcome: (name: string) => `Welcome, ${name}`,
  /** Used if the portal does not return the visitor's name. */
  welcomeWithoutName: 'Welcome',
  welcomeLead: 'What would you like to do?',
  /** The link to the site's home. */
  goHome: 'Go to your applications',
  homeText: 'Look up a client ID, change an application, get a new client secret, or remove an application.',
  /** The link to the page for a new application. */
  goNew: 'New application',
  newText: 'Register an application to get a client ID and a client secret, which it needs to sign people in.',
  signIn: 'Sign in',
  steps: {
    title: 'How it works',
    signIn: { title: '1. Sign in', text: 'The login portal asks who you are, and whether this site may act for you.' },
    register: { title: '2. Register', text: 'Name your application, and say where people return after signing in.' },
    build: {
      title: '3. Build',
      text: 'Put the credentials, which are shown once, into the settings of your own client.',
    },
  },
}

declare module './texts.ts' {
  interface Texts {
    start: typeof startTexts
  }
}
