// Mail of the portal. A sandbox sends none: the laboratory keeps each mail and shows it. Without a laboratory there is no mail.

export interface Mail {
  /** The e-mail address of the account. */
  to: string
  subject: string
  /** Plain text; a line that is an address is a link. */
  text: string
}

export interface Mailbox {
  deliver(mail: Mail): void
  /** The page that shows the mail. */
  url: string
}
