// What visitors read while they sign in, stay signed in and sign out.

export const signInTexts = {
  signIn: 'Sign in',
  signInAgain: 'Sign in again',
  signInAndContinue: 'Sign in and continue',
  continue: 'Continue',
  /** A link to the page that began a connection. */
  goBack: 'Go back',
  /** The message in a JSON answer to a script. */
  signInRequired: 'Sign in again.',
  couldNotStaySignedIn: {
    title: 'You could not stay signed in',
    /** The message if the platform refused the new session. */
    refused:
      'You have just signed in, but the platform no longer accepts this sign-in. You may have withdrawn this site’s access to your account. Sign in again.',
    /** The message if the browser sent no cookie. */
    noCookie:
      'You have just signed in, but your browser did not keep this site’s cookie. Allow cookies for this site and try again.',
  },
  signedOut: {
    title: 'You are signed out',
    /** The message on the start page. */
    notice: 'You are signed out.',
    message: 'Sign in to see this page.',
    /** The portal has its own session, and may sign the same person in again without asking. */
    atPortal: (signOutThere: string) =>
      `You may still be signed in at the login portal. If you share this device, ${signOutThere}.`,
    atPortalLink: 'also sign out of the portal',
  },
  declined: {
    title: 'You did not sign in',
    message:
      'You declined at the login portal, so nothing was shared with this site. You can sign in whenever you like.',
  },
  /** The page for a visitor who declined a connection. The visitor is already signed in to this site. */
  connectionDeclined: {
    title: 'Nothing was connected',
    message:
      'You declined at the login portal, so this site was not connected to your account. You can connect it whenever you like.',
  },
  portalRefused: {
    title: 'The login portal did not sign you in',
    message: (reason: string) =>
      `The portal said: “${reason}”. Try again. If it happens again, tell the operator of this site.`,
  },
  /** The title of the page that shows one of the loginErrors. */
  loginFailed: 'The sign-in did not work',
  /** The title of the error page if a connection failed. */
  connectionFailed: 'The connection did not work',
  /** The keys are the error codes in protocol/login-error.ts. */
  loginErrors: {
    login_callback_invalid: 'The login portal sent you back to an incomplete address. Try again.',
    login_unknown:
      'This sign-in was started in another browser, has already ended, or took longer than ten minutes. Sign in again.',
    login_without_cookies:
      'Signing in needs cookies, and your browser sent none. Allow cookies for this site and sign in again. Some browsers do not keep secure cookies for http addresses: use https or another browser. If you started the sign-in in another browser, continue in that browser.',
    login_used: 'This sign-in link has already been used. Each link works only once.',
    invalid_grant:
      'The login portal no longer accepts this attempt, because it has already been used or took too long. Try again.',
    other_user:
      'You are signed in at the login portal with a different account from the one on this site, so nothing was connected. Sign out at the portal, then try again.',
    user_unknown:
      'The login portal does not say who you are, so this site cannot connect your account. Tell the operator of this site.',
    no_refresh_token:
      'The login portal did not give this site long-term access, so nothing was connected. Tell the operator of this site.',
    not_connected: 'This site could not store the connection, so nothing was connected. Try again.',
    token_too_long:
      'The login portal issued an access token that is too long for a cookie. Tell the operator of this site.',
    client_misconfigured:
      'This site is not set up correctly for the login portal. It is not your fault. Tell the operator of this site.',
  },
  /** The messages for calls that the application API refuses. */
  api: {
    forbidden: 'You are not allowed to do this.',
    notFound: 'This does not exist, or it is not yours.',
    conflict:
      'This conflicts with the stored data. Somebody else may have changed the data in the meantime, or what you want to create may already exist. Open the page again, then try again.',
    changed: 'Somebody else has changed this in the meantime. Open the page again, then try again.',
    /** `reason` is the API's own sentence. */
    refused: (reason: string) => `The application API did not accept this. ${reason}`,
    refusedWithoutReason: 'The application API did not accept this, and did not say why.',
    fieldRefused: 'Not accepted.',
  },
}

declare module '../texts.ts' {
  interface Texts {
    signIn: typeof signInTexts
  }
}
