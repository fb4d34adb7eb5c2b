// Situations that show which requests browsers send for the forms of a page.
import type { Situation, Step } from '../situation.ts'

type Case = { form: string; values?: Record<string, string | string[]>; button?: string | undefined }

const text = '<input name="a" value="1">'

const cases: Record<string, Case> = {
  'text of all kinds': {
    form: '<form method=post action=/to><input name=a value="ä &amp; b=c+d%20"><input name="n ü" value="~*-._!()\'"><button>Go</button></form>',
  },
  'new lines become CRLF': {
    form: '<form method=post action=/to><input type=hidden name=h value="1&#10;2&#13;3"><textarea name=t>\n\none\ntwo</textarea><button>Go</button></form>',
  },
  'text that a person types': {
    form: '<form method=post action=/to><textarea name=t></textarea><input name=a><input type=password name=p><button>Go</button></form>',
    values: { t: 'one\ntwo', a: 'a+b', p: 'p&q' },
  },
  'a GET form puts its fields into the query': {
    form: '<form action="/to?old=1#f"><input name=q value="x y"><button name=b value=1>Go</button></form>',
  },
  'an unknown method counts as GET': { form: `<form method=put action=/to>${text}<button>Go</button></form>` },
  'a form without an action goes to the address of its page': {
    form: `<form method=post>${text}<button>Go</button></form>`,
  },
  'a form with an empty action goes to the address of its page': {
    form: `<form method=post action="">${text}<button>Go</button></form>`,
  },
  'the button that is pressed': {
    form: `<form method=post action=/to>${text}<button name=b value=one>One</button><button name=b value=two>Two</button></form>`,
    button: 'Two',
  },
  'a button among the fields': {
    form: '<form method=post action=/to><input name=a value=1><button name=b value=2>Go</button><input name=c value=3></form>',
  },
  'the Enter key presses the first button': {
    form: `<form method=post action=/to>${text}<button type=button name=x value=x>No</button><button name=b value=one>One</button><button name=b value=two>Two</button></form>`,
    button: undefined,
  },
  'the Enter key without a button': { form: `<form method=post action=/to>${text}</form>`, button: undefined },
  'buttons that are inputs': {
    form: `<form method=post action=/to>${text}<input type=submit name=s value=Go><input type=reset name=r><input type=button name=t value=t></form>`,
  },
  'a submit button without a value': {
    form: `<form method=post action=/to>${text}<input type=submit name=s></form>`,
    button: 'Submit',
  },
  'formaction, formmethod and formenctype': {
    form: `<form method=post action=/to>${text}<button formaction=/else formmethod=post formenctype=text/plain name=b value=1>Go</button></form>`,
  },
  'a field outside its form': {
    form: `<input name=out value=1 form=f><form id=f method=post action=/to>${text}<button>Go</button></form><input name=other value=2>`,
  },
  'a field that belongs to another form': {
    form: `<form method=post action=/to>${text}<input name=b value=2 form=nobody><button>Go</button></form>`,
  },
  'disabled fields are not sent': {
    form: `<form method=post action=/to>${text}<input name=b value=2 disabled><fieldset disabled><legend><input name=l value=3></legend><input name=c value=4><legend><input name=m value=5></legend></fieldset><button>Go</button></form>`,
  },
  'read-only fields are sent': {
    form: '<form method=post action=/to><input name=a value=1 readonly><button>Go</button></form>',
  },
  'fields without a name': {
    form: `<form method=post action=/to>${text}<input value=2><input name="" value=3><button>Go</button></form>`,
  },
  checkboxes: {
    form: '<form method=post action=/to><input type=checkbox name=a checked><input type=checkbox name=b><input type=checkbox name=c value=x checked><button>Go</button></form>',
  },
  'checkboxes with the same name, checked by a person': {
    form: '<form method=post action=/to><input type=checkbox name=a value=1 checked><input type=checkbox name=a value=2><input type=checkbox name=a value=3><button>Go</button></form>',
    values: { a: ['2', '3'] },
  },
  'radio buttons, the last one checked': {
    form: '<form method=post action=/to><input type=radio name=a value=1 checked><input type=radio name=a value=2 checked><input type=radio name=b value=3><button>Go</button></form>',
  },
  'a radio button that a person presses': {
    form: '<form method=post action=/to><input type=radio name=a value=1 checked><input type=radio name=a value=2><button>Go</button></form>',
    values: { a: '2' },
  },
  'a select sends its first enabled option': {
    form: '<form method=post action=/to><select name=a><option disabled>No<option> One  more </option><option value=2>Two</select><button>Go</button></form>',
  },
  'a select with a selected option, and a select in which a person chooses an option': {
    form: '<form method=post action=/to><select name=a><option>1<option selected>2<option selected>3</select><select name=b><option>1<option>2</select><button>Go</button></form>',
    values: { b: '2' },
  },
  'a select whose selected option is disabled': {
    form: '<form method=post action=/to><select name=a><option>1<option selected disabled>2</select><button>Go</button></form>',
  },
  'a select that allows several options': {
    form: '<form method=post action=/to><select name=a multiple><option selected>1<option>2<optgroup disabled><option selected>3</optgroup><option selected>4</select><button>Go</button></form>',
  },
  'a list with nothing selected': {
    form: '<form method=post action=/to><select name=a size=3><option>1<option>2</select><button>Go</button></form>',
  },
  'values that the types of the fields do not allow': {
    form: '<form method=post action=/to novalidate><input type=number name=n value=x><input type=number name=m value=1e3><input type=email name=e value=" a@b "><input type=url name=u value=" u "><input name=t value="1&#10;2"><button>Go</button></form>',
  },
  'text/plain': {
    form: '<form method=post action=/to enctype=text/plain><input name=a value="1=2&3"><textarea name=t>x\ny</textarea><button>Go</button></form>',
  },
  multipart: {
    form: '<form method=post action=/to enctype=multipart/form-data><input name=\'a"b\' value="ä"><textarea name=t>x\ny</textarea><input type=file name=f><button name=b value=1>Go</button></form>',
  },
  'a file that nobody chose': {
    form: '<form method=post action=/to><input type=file name=f><button>Go</button></form>',
  },
  _charset_: {
    form: '<form method=post action=/to><input type=hidden name=_charset_ value=x><input type=hidden name=_CHARSET_><button>Go</button></form>',
  },
  'a form in a form': {
    form: `<form method=post action=/to>${text}<form action=/no><input name=b value=2><button>Go</button></form>`,
  },
  'attributes that contain < or >': {
    form: `<form method=post action=/to data-x="a > b"><input name=a value="<b> &quot;q&quot;"><button>Go</button></form>`,
  },
  'a template is not part of the page': {
    form: `<form method=post action=/to>${text}<template><input name=t value=1></template><button>Go</button></form>`,
  },
  'fields in a datalist': {
    form: `<form method=post action=/to>${text}<datalist><input name=d value=1></datalist><button>Go</button></form>`,
  },
}

/** The server answers each form with the page that contains the next form. */
export const forms: Situation[] = [
  {
    name: 'forms',
    answers: Object.values(cases).map(({ form }) => ({
      body: `<!doctype html><meta charset=utf-8><title>A form</title>${form}`,
    })),
    steps: [
      { visit: '{client}/page?q=1' },
      ...Object.entries(cases).map(
        ([name, { values, ...rest }]): Step => ({
          send: 'button' in rest ? rest.button : 'Go',
          name,
          ...(values ? { values } : {}),
        }),
      ),
    ],
  },
]
