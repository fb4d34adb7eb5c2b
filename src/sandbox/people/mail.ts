// The mail that the portal writes. A sandbox never sends mail: the laboratory keeps each message and shows it. Without
// a laboratory, the portal does not write mail.

export interface Mail {
  /** The e-mail address of the account, as normaliseEmail returns it. */
  to: string
  subject: string
  /** The text without markup. If a line is an address, the laboratory shows the line as a link. */
  text: string
}

export interface Mailbox {
  deliver(mail: Mail): void
  /** The address of the page that shows all mail. */
  url: string
}
