// What visitors read on every page, in every form, and when something goes wrong.

export const webTexts = {
  page: {
    /** The title of a form that was refused. */
    errorTitle: (title: string) => `Error: ${title}`,
    skip: 'Skip to the content',
    mainNavigation: 'Main',
    breadcrumbs: 'Breadcrumbs',
    /** Shown with the name or the id of the visitor. */
    signedInAs: (name: string) => `Signed in as ${name}`,
    signOut: 'Sign out',
    signedInUntil: (time: string) => `You are signed in until ${time}.`,
    cookie: 'Your sign-in is kept in an encrypted cookie in this browser.',
  },
  /**
   * The age of something that is less than a minute old. This text also appears within a sentence: “Created just now”.
   */
  justNow: 'just now',
  /** The texts of a page that opens the next page by itself. */
  continue: {
    title: 'One moment',
    text: 'Opening the page that you asked for…',
    ifNotOpened: 'If this page stays open, press Continue.',
    link: 'Continue',
  },
  field: { optional: 'optional', choose: 'Choose…' },
  form: {
    hasDraft: 'This is what you typed before your session ended. It has not been sent yet.',
    signInFirst: 'Nothing was sent. Sign in first. Then come back to this tab and send the form again.',
    signInFirstLink: 'Sign in (new tab)',
    problemOf: (label: string, problem: string) => `${label}: ${problem}`,
    ifThisKeepsHappening: (link: string) => `If this keeps happening, ${link}, then send this form again.`,
    signInAgainLink: 'sign in again in a new tab',
    nothingLost: (requestId: string) => `Nothing you typed is lost. Request ID: ${requestId}`,
    sending: 'Sending…',
    cancel: 'Cancel',
    /**
     * The title of a simple form with the typed text. The client shows this form if the page of the real form fails.
     */
    plainTitle: 'What you typed',
    sendAgain: 'Send again',
    fieldsRefused: 'Correct the fields that are marked.',
    tooOld: 'This page has been open for too long. Check what you typed and send it again.',
    otherVisitor: 'You are now signed in with a different account than when you opened this form, so nothing was done.',
    otherLogin: 'You have signed in again since you opened this form. Check what you typed and send it again.',
    openAgain: 'Open the form again',
    sessionEnded: 'Your session has ended',
    nothingDone: 'Nothing was done. Sign in and try again.',
    /** Shown instead of `nothingDone` and `draftKept` if an earlier attempt failed without a usable answer. */
    inDoubt: 'Your first attempt may have taken effect. Sign in and check before you try again.',
    draftKeptInDoubt:
      'Your first attempt may have taken effect. For the next ten minutes, this site keeps what you typed, and shows it in the form.',
    draftKept: 'Nothing was sent. For the next ten minutes, this site keeps what you typed, and shows it in the form.',
  },
  /** The page that shows an error. */
  errorPage: {
    /** The titles. The keys are status codes. */
    titles: {
      403: 'Not allowed',
      404: 'Page not found',
      500: 'Something went wrong',
      502: 'This page cannot be loaded right now',
      503: 'Too busy right now',
      504: 'The platform took too long to answer',
    } as Record<number, string>,
    otherTitle: 'That did not work',
    tryAgain: 'Try again',
    goToStart: 'Go to the start page',
    ifThisKeepsHappening: 'If this page still does not work later:',
    or: 'or',
    requestId: (requestId: string) => `If you ask for help, quote this request ID: ${requestId}`,
  },
  errors: {
    noPage: 'There is no page at this address. Check the address for typing mistakes.',
    wrongMethod: 'This page does not accept this kind of request.',
    fromAnotherSite:
      'This form was not sent from a page of this site, so nothing was done. Open the page here and try again.',
    needsOwnTab: 'You can sign in only in a separate window or tab.',
    internal: 'Something went wrong on this site. The error has been logged. Try again.',
    /** The messages of all other errors. The keys are status codes. */
    byStatus: {
      400: 'The request could not be understood.',
      404: 'There is nothing at this address.',
      408: 'The request took too long to arrive.',
      413: 'You sent too much data at once. Send less.',
      414: 'There is no page at this address, because the address is too long.',
      415: 'This content type is not accepted here.',
      429: 'There were too many requests. Wait a moment, then try again.',
      431: 'Your browser sends too many cookies to this site. Delete this site’s cookies, then open it again.',
      503: 'This site is too busy right now. Try again soon.',
    } as Record<number, string>,
    otherStatus: 'The request was not accepted.',
  },
  /** Shown after three seconds without an answer. */
  waiting: 'Still waiting for the platform. You do not have to do anything: this page continues by itself.',
  /** The texts for views/client/assets/script.js. The script replaces `{name}`. */
  copy: {
    button: 'Copy',
    copyOne: (name: string) => `Copy: ${name}`,
    copyAll: 'Copy all',
    done: 'Copied',
    copied: (name: string) => `Copied: ${name}`,
    copiedAll: 'Everything is copied.',
    selected: 'Selected',
    notCopied: (name: string) => `Copying did not work. Copy the selected text yourself: ${name}`,
    notCopiedAll: 'Copying did not work. Everything is selected: copy it yourself.',
  },
}

declare module '../texts.ts' {
  interface Texts {
    web: typeof webTexts
  }
}
