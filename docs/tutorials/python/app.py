"""A client of the platform: sign in, list applications, create one, sign out."""

import base64
import hashlib
import io
import json
import os
import re
import secrets
import time
from concurrent.futures import Future, ThreadPoolExecutor, TimeoutError
from html import escape
from urllib.parse import quote, urlencode

import requests
from authlib.integrations.base_client import OAuthError
from authlib.integrations.flask_client import OAuth
from cryptography.fernet import Fernet, InvalidToken
from flask import Flask, g, make_response, request, session
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError

LOGIN_URL = os.environ["LOGIN_URL"]
API_URL = os.environ["API_URL"]
CLIENT_ID = os.environ["CLIENT_ID"]
CLIENT_SECRET = os.environ["CLIENT_SECRET"]
PUBLIC_URL = os.environ.get("PUBLIC_URL", "http://localhost:3000")
SESSION_KEY = os.environ["SESSION_KEY"]  # at least 32 random characters

REDIRECT_URI = PUBLIC_URL + "/exchangeToken"
CANCEL_URL = PUBLIC_URL + "/cancelled"
MAX_BYTES = 8 * 1024 * 1024

app = Flask(__name__)
app.config.update(
    # The key depends on these settings. If one of them changes, the client refuses the logins that began before.
    SECRET_KEY=hashlib.sha256(" ".join([SESSION_KEY, LOGIN_URL, CLIENT_ID, REDIRECT_URI]).encode()).digest(),
    MAX_CONTENT_LENGTH=64 * 1024,
    # Flask's own session contains only the logins that are under way. The browser must send this cookie when the portal
    # redirects it back, so it is Lax.
    SESSION_COOKIE_NAME="__Host-logins",
    SESSION_COOKIE_SECURE=True,
    SESSION_COOKIE_HTTPONLY=True,
    SESSION_COOKIE_SAMESITE="Lax",
    SESSION_COOKIE_PATH="/",
    PERMANENT_SESSION_LIFETIME=600,
)

# ---- Calls to the platform --------------------------------------------------------------------------------------------

workers = ThreadPoolExecutor(32)


class BoundedAdapter(HTTPAdapter):
    """Limits each answer to ten seconds and 8 MB. The `timeout` setting of the library `requests` limits only the
    time of each read."""

    def send(self, request, **options):
        try:
            return workers.submit(self.receive, request, {**options, "stream": True}).result(timeout=10)
        except TimeoutError:
            raise requests.Timeout("No whole answer within ten seconds") from None

    def receive(self, request, options):
        response = super().send(request, **options)
        content = bytearray()
        with response:
            try:
                for chunk in response.raw.stream(1024):
                    content += chunk
                    if len(content) > MAX_BYTES:
                        raise requests.RequestException("The answer has more than 8 MB")
            except HTTPError as error:
                raise requests.ConnectionError("The answer was cut off") from error
        response.raw = io.BytesIO(content)
        return response


def prepare(http):
    """Prepares an HTTP session. Runs for each of Authlib's sessions, and for our own."""
    http.mount("http://", BoundedAdapter())
    http.mount("https://", BoundedAdapter())
    http.headers["Accept-Encoding"] = "identity"
    http.trust_env = False
    return http


def prepare_authlib(http):
    prepare(http)
    http.register_compliance_hook("access_token_response", refuse_other_statuses)


def refuse_other_statuses(response):
    """Authlib accepts tokens from an answer with any status, and raises TypeError if the JSON is not an object."""
    answer = response.json()
    if not isinstance(answer, dict):
        raise requests.RequestException("The portal's answer is not an object")
    if response.status_code != 200 and not (response.status_code in [400, 401] and "error" in answer):
        raise requests.RequestException(f"The portal answered with {response.status_code}")
    return response


oauth = OAuth(app)
oauth.register(
    "platform",
    client_id=CLIENT_ID,
    client_secret=CLIENT_SECRET,
    authorize_url=LOGIN_URL + "/",
    access_token_url=LOGIN_URL + "/api/exchangeToken",
    # The platform requires two parameters that OAuth does not define.
    authorize_params={"grant_type": "authorization", "cancel_url": CANCEL_URL},
    client_kwargs={
        "token_endpoint_auth_method": "client_secret_post",
        "code_challenge_method": "S256",
    },
    compliance_fix=prepare_authlib,
)

# ---- Pages ------------------------------------------------------------------------------------------------------------

# The page of the callback opens the next page by itself.
GO_ON = '<meta http-equiv="refresh" content="0; url=/applications">'
SIGN_OUT = '<form method="post" action="/logout"><button>Sign out</button></form>'


def page(title, content, status=200, head=""):
    html = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">{head}</head>'
        f"<body><main><h1>{escape(title)}</h1>{content}</main></body></html>"
    )
    return make_response(html, status)


def sign_in_page(title="You are not signed in", status=401):
    return page(title, '<p><a href="/login">Sign in</a></p>', status)


@app.after_request
def add_security_headers(response):
    response.headers.update({
        "Cache-Control": "no-store",
        "Content-Security-Policy": "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        "X-Content-Type-Options": "nosniff",
        # The address of the callback contains the code.
        "Referrer-Policy": "no-referrer" if request.path == "/exchangeToken" else "same-origin",
    })
    return response


@app.before_request
def refuse_forms_of_other_sites():
    """Browsers send Origin with every POST of a page."""
    if request.method == "POST" and request.headers.get("Origin") != PUBLIC_URL:
        return page("This form came from another site", "", 403)


# ---- The session ------------------------------------------------------------------------------------------------------

fernet = Fernet(base64.urlsafe_b64encode(hashlib.sha256(SESSION_KEY.encode()).digest()))
# The refresh token lives longer than the access token, so it has a cookie of its own.
SESSION, REFRESH = "__Host-session", "__Host-refresh"
REFRESH_SECONDS = 14 * 24 * 60 * 60
# Browsers do not keep a cookie of more than 4,096 bytes. Sealing makes a token a third longer.
MAX_TOKEN = 2700
# Browsers keep a cookie for at most 400 days.
MAX_SECONDS = 400 * 24 * 60 * 60


def seal(value):
    return fernet.encrypt(json.dumps(value).encode()).decode()


def unseal(text, seconds=None):
    """Returns the sealed value. Returns an empty object if somebody else made this string, or if it is too old."""
    try:
        # Python ignores characters after the padding. We never make a string with such characters.
        if base64.urlsafe_b64encode(base64.urlsafe_b64decode(text)).decode() != text:
            return {}
        return json.loads(fernet.decrypt(text.encode(), ttl=seconds))
    except (InvalidToken, ValueError):
        return {}


def read_session():
    """Returns the tokens of this browser, or None if it has no session."""
    session_part = unseal(request.cookies.get(SESSION, ""))
    refresh_part = unseal(request.cookies.get(REFRESH, ""))
    if session_part.get("ends_at", 0) > time.time():
        return {"refresh_token": None, **refresh_part, **session_part}
    if refresh_part.get("refresh_ends_at", 0) > time.time():
        return {"access_token": "", "ends_at": 0, **refresh_part}
    return None


def keep_session(response, tokens):
    """Sets the cookies. Each cookie lives as long as its token, and browsers send it only from our own pages."""
    flags = {"path": "/", "secure": True, "httponly": True, "samesite": "Strict"}
    session_part = {name: tokens[name] for name in ["access_token", "ends_at", "session_id"]}
    response.set_cookie(SESSION, seal(session_part), max_age=round(tokens["ends_at"] - time.time()), **flags)
    if tokens["refresh_token"]:
        # A renewal does not extend the lifetime of this cookie. Otherwise a stolen copy could be used forever.
        refresh_part = {name: tokens[name] for name in ["refresh_token", "refresh_ends_at", "session_id"]}
        seconds_left = round(tokens["refresh_ends_at"] - time.time())
        response.set_cookie(REFRESH, seal(refresh_part), max_age=seconds_left, **flags)
    return response


def end_session(response):
    for name in [SESSION, REFRESH]:
        response.delete_cookie(name, path="/", secure=True, httponly=True, samesite="Strict")
    return response


def read_tokens(answer):
    """Returns the tokens and the expiry of the access token. Raises ValueError if the portal's answer breaks the
    platform's rules."""
    access_token, seconds = answer.get("access_token"), answer.get("expires_in")
    # A header can contain only these characters.
    if not isinstance(access_token, str) or not re.fullmatch(r"[\x21-\x7e]+", access_token):
        raise ValueError("no usable access token")
    if str(answer.get("token_type")).lower() != "bearer" or type(seconds) is not int or seconds <= 0:
        raise ValueError("not a bearer token with a lifetime")
    refresh_token = answer.get("refresh_token")
    if len(access_token) > MAX_TOKEN or len(str(refresh_token)) > MAX_TOKEN:
        raise ValueError("a token that does not fit into a cookie")
    return {
        "access_token": access_token,
        "refresh_token": refresh_token if isinstance(refresh_token, str) else None,
        "ends_at": time.time() + min(seconds, MAX_SECONDS),
    }


# ---- Signing in -------------------------------------------------------------------------------------------------------


@app.get("/")
def home():
    return page("Applications", '<p><a href="/applications">Your applications</a></p><p><a href="/login">Sign in</a></p>')


@app.get("/login")
def login():
    # A browser keeps at most 4 KB in a cookie, which is enough for five logins: the four newest, and this one.
    # Flask sorts the session by name, so we sort it by time.
    logins = [key for key in session if key.startswith("_state_")]
    logins.sort(key=lambda key: session[key]["exp"])
    for key in logins[:-4]:
        session.pop(key)
    session.permanent = True
    return oauth.platform.authorize_redirect(REDIRECT_URI)


@app.get("/cancelled")
def cancelled():
    return sign_in_page("You did not sign in", 200)


@app.get("/exchangeToken")
def exchange_token():
    names = ["code", "state", "iss", "error", "client_id", "redirect_uri"]
    if any(len(request.args.getlist(name)) > 1 for name in names):
        return sign_in_page("This is not the answer to a login", 400)
    state = request.args.get("state", "")
    if f"_state_platform_{state}" not in session:
        return sign_in_page("This login was started in another browser, or is over", 400)
    if request.args.get("iss", LOGIN_URL) != LOGIN_URL or request.args.get("client_id", CLIENT_ID) != CLIENT_ID:
        return sign_in_page("This is the answer to another client", 400)
    # Every code consists of printable ASCII characters. A callback with an error has no code.
    is_code = re.fullmatch(r"[\x20-\x7e]{1,2048}", request.args.get("code", ""))
    if not (is_code or "error" in request.args) or len(request.args.get("subject", "")) > 2048:
        return sign_in_page("This is not the answer to a login", 400)
    try:
        # Authlib compares the state and sends the PKCE verifier. The platform also requires the state in the exchange.
        answer = oauth.platform.authorize_access_token(
            body=urlencode({"state": state}), timeout=5, allow_redirects=False,
        )
        if answer.get("state") != state:
            raise ValueError("the answer belongs to another login")
        refresh_ends_at = time.time() + REFRESH_SECONDS
        tokens = {**read_tokens(answer), "refresh_ends_at": refresh_ends_at, "session_id": secrets.token_urlsafe(16)}
    except OAuthError:
        return sign_in_page("The portal refused this login", 400)
    except (requests.RequestException, TypeError, ValueError, RecursionError):
        # Authlib raises TypeError if expires_in is a list or an object.
        return sign_in_page("The portal did not answer as it should. Try again in a moment", 502)
    # A page and not a redirect: after a redirect that began at the portal, browsers do not send a Strict cookie.
    return keep_session(page("You are signed in", '<p><a href="/applications">Go on</a></p>', head=GO_ON), tokens)


@app.post("/logout")
def logout():
    tokens = read_session()
    if tokens:
        token = tokens.get("refresh_token") or tokens["access_token"]
        fields = {"token": token, "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}
        try:
            call("POST", LOGIN_URL + "/api/revokeToken", data=fields)
        except PlatformFault:
            app.logger.warning("The portal did not revoke the tokens")
    session.clear()
    return end_session(page("You are signed out", '<p><a href="/login">Sign in</a></p>'))


# ---- Calling the API --------------------------------------------------------------------------------------------------


class SignedOut(Exception):
    """The session is over. The visitor has to sign in again."""


class PlatformFault(Exception):
    """The platform did not answer as it should. The visitor can try again."""


@app.errorhandler(SignedOut)
def show_signed_out(_error):
    # A link on another site led here, so the browser did not send its Strict cookies. This page opens the address again,
    # and the browser then sends them.
    if request.method == "GET" and request.headers.get("Sec-Fetch-Site") == "cross-site":
        return page("One moment", "", head=f'<meta http-equiv="refresh" content="0; url={escape(request.path)}">')
    return end_session(sign_in_page())


@app.errorhandler(PlatformFault)
def show_fault(_error):
    again = f'<p><a href="{escape(request.path)}">Try again</a></p>'
    return page("The platform does not answer as it should", again + SIGN_OUT, 502)


def call(method, url, **options):
    """Returns the status and the JSON of an answer, or None if an error answer has no JSON. Does not follow redirects."""
    try:
        with prepare(requests.Session()) as http:
            answer = http.request(method, url, timeout=5, allow_redirects=False, **options)
    except requests.RequestException as error:
        raise PlatformFault("No usable answer") from error
    try:
        return answer.status_code, json.loads(answer.content) if answer.content else None
    # Very deeply nested JSON raises RecursionError.
    except (ValueError, RecursionError) as error:
        # An answer with an error status may be a web page.
        if answer.status_code >= 400:
            return answer.status_code, None
        raise PlatformFault("No usable answer") from error


def once(results, key, work):
    """Runs `work` for the first request with this key. Later requests with this key get the same result or error."""
    mine = Future()
    first = results.setdefault(key, mine)
    if first is mine:
        for old in list(results)[:-1000]:
            results.pop(old, None)
        try:
            mine.set_result(work())
        except Exception as error:
            mine.set_exception(error)
    return first.result()


renewals = {}


def renew(tokens):
    """Returns new tokens. Requests with the same refresh token share one renewal, because it replaces the token."""
    if not tokens["refresh_token"]:
        raise SignedOut
    key = hashlib.sha256(tokens["refresh_token"].encode()).digest()
    try:
        g.is_renewed = True
        return once(renewals, key, lambda: send_renewal(tokens))
    except Exception:
        # The next request tries again.
        g.is_renewed = False
        renewals.pop(key, None)
        raise


def send_renewal(tokens):
    fields = {
        "grant_type": "refresh_token",
        "refresh_token": tokens["refresh_token"],
        "client_id": CLIENT_ID,
        "client_secret": CLIENT_SECRET,
    }
    status, answer = call("POST", LOGIN_URL + "/api/exchangeToken", data=fields)
    error = answer.get("error") if isinstance(answer, dict) else None
    # Only these statuses and errors end a session. After any other failure, such as a 503 answer, the next request
    # tries again.
    has_no_renewals = status in [404, 405, 501]
    is_refused = status in [400, 401] and error in ["invalid_grant", "unauthorized_client", "unsupported_grant_type"]
    if has_no_renewals or is_refused:
        raise SignedOut
    if status != 200 or not isinstance(answer, dict):
        raise PlatformFault(f"The portal answered a renewal with {status}")
    try:
        renewed = read_tokens(answer)
    except ValueError as error:
        raise PlatformFault("The portal's answer to a renewal is incomplete") from error
    return {**tokens, **renewed, "refresh_token": renewed["refresh_token"] or tokens["refresh_token"]}


def call_api(method, path, body=None, base=API_URL):
    """Calls the platform for the visitor of this request. Returns the status and the JSON.

    Renews the session if it is about to end. Also renews it once if the API refuses the access token.
    """
    if "tokens" not in g:
        g.tokens = read_session()
    if not g.tokens:
        raise SignedOut
    if g.tokens["ends_at"] < time.time() + 30 and g.tokens["refresh_token"]:
        g.tokens = renew(g.tokens)
    for may_renew in [True, False]:
        headers = {"Authorization": "Bearer " + g.tokens["access_token"]}
        status, answer = call(method, base + path, json=body, headers=headers)
        if status != 401:
            return status, answer
        if may_renew:
            g.tokens = renew(g.tokens)
    raise SignedOut


@app.after_request
def keep_renewed_session(response):
    """A renewed session needs new cookies, even if the page reports an error."""
    if g.get("is_renewed"):
        keep_session(response, g.tokens)
    return response


def records(answer):
    """Returns the records of a list. Leaves out items that are not JSON objects."""
    items = answer.get("ItemList") if isinstance(answer, dict) else None
    if not isinstance(items, list):
        raise PlatformFault("The API's answer is not a list")
    return [item for item in items if isinstance(item, dict)]


def text_of(record, name):
    data = record.get("data")
    value = data.get(name) if isinstance(data, dict) else None
    return value if isinstance(value, str) else ""


@app.get("/applications")
def list_applications():
    status, answer = call_api("GET", "/apps/v1")
    if status != 200:
        raise PlatformFault(f"The API answered the list with {status}")
    names = [text_of(application, "name") or "Unnamed" for application in records(answer)]
    rows = "".join(f"<li>{escape(name)}</li>" for name in names)
    content = f"<ul>{rows}</ul>" if rows else "<p>You have no applications yet.</p>"
    new = '<p><a href="/applications/new">New application</a></p>'
    return page("Your applications", content + new + SIGN_OUT)


# ---- Creating an application ------------------------------------------------------------------------------------------

LABELS = {
    "name": "Name",
    "description": "Description",
    "webPageUrl": "Web page",
    "iconUrl": "Icon",
    "privacyPolicyUrl": "Privacy policy",
    "redirectUris": "Redirect URIs, separated by commas",
    "scopes": "Scopes",
    "defaultScopes": "Default scopes",
}
ENVELOPE = {"context": "https://standards.oftrust.net/v2/Context/Identity/Digital/Software/App/", "type": "App"}

answered_forms = {}


def load_groups():
    """Returns the groups of the visitor, each as a pair of id and name."""
    status, person = call_api("GET", "/api/me", base=LOGIN_URL)
    person_id = person.get("@id") if status == 200 and isinstance(person, dict) else None
    if not isinstance(person_id, str):
        raise PlatformFault(f"The portal answered the request for the person with {status}")
    status, answer = call_api("GET", f"/identities/v1/{quote(person_id, safe='')}/links?type=MemberOf")
    if status != 200:
        raise PlatformFault(f"The API answered the request for the groups with {status}")
    return [(link["to"], text_of(link, "name")) for link in records(answer) if isinstance(link.get("to"), str)]


def form_page(values, problems, status):
    """Returns the title, content and status of the page with the form. The form shows the typed values, and can
    create only one application."""
    token = seal({"form_id": secrets.token_urlsafe(16), "session_id": g.tokens["session_id"]})
    choices = "".join(
        f'<option value="{escape(group_id)}"{" selected" if group_id == values.get("groupId") else ""}>{escape(name)}</option>'
        for group_id, name in load_groups()
    )
    fields = "".join(
        f'<p><label>{label}<br><input name="{name}" value="{escape(values.get(name, ""))}"></label></p>'
        for name, label in LABELS.items()
    )
    listed = "".join(f"<li>{escape(problem)}</li>" for problem in problems)
    content = (
        f'<ul role="alert">{listed}</ul><form method="post" action="/applications">'
        f'<input type="hidden" name="form" value="{token}">'
        '<p><label>Group<br><select name="groupId" required><option value="">Choose a group</option>'
        f"{choices}</select></label></p>{fields}<button>Create</button></form>"
        f"{SIGN_OUT}"
    )
    return "New application", content, status


@app.get("/applications/new")
def new_application():
    g.tokens = read_session()
    if not g.tokens:
        raise SignedOut
    return page(*form_page({}, [], 200))


@app.post("/applications")
def create_application():
    g.tokens = read_session()
    if not g.tokens:
        raise SignedOut
    token = unseal(request.form.get("form", ""), 3600)
    if token.get("session_id") != g.tokens["session_id"]:
        return page(*form_page(request.form, ["This form is too old. Check it and send it again."], 400))
    # Browsers repeat a form by themselves if the connection breaks, and people press a button twice.
    return page(*once(answered_forms, token.get("form_id"), create_from_form))


def create_from_form():
    """Returns the title, content and status of the page that answers the form."""
    fields = {name: request.form.get(name, "") for name in ["groupId", *LABELS]}
    try:
        status, answer = call_api("POST", "/apps/v1", {**ENVELOPE, "data": fields})
        if status in [400, 403, 404, 409, 422]:
            return form_page(request.form, problems_in(answer), status)
        if status not in [200, 201]:
            raise PlatformFault(f"The API answered a creation with {status}")
        client = answer["client"]
        credentials = {"Client ID": client["clientId"], "Client secret": client["clientSecrets"][0]}
    except (PlatformFault, KeyError, IndexError, TypeError):
        # The API may have created the application. Sending the form again must not create a second application.
        link = '<p><a href="/applications">Check whether it is in the list</a> before you create it again.</p>'
        return "It is not known whether the application was created", link + SIGN_OUT, 502
    rows = "".join(f"<dt>{label}</dt><dd>{escape(str(value))}</dd>" for label, value in credentials.items())
    back = '<p><a href="/applications">Your applications</a></p>'
    return "The application was created", f"<p>Copy the secret now. It is shown only once.</p><dl>{rows}</dl>{back}{SIGN_OUT}", 200


def problems_in(answer):
    """Returns the sentences of a refusal. A refusal has one sentence, or a list of sentences for each field."""
    error = answer.get("error") if isinstance(answer, dict) else None
    message = error.get("message") if isinstance(error, dict) else None
    if isinstance(message, dict):
        return [f"{LABELS.get(field, field)}: {' '.join(map(str, texts))}" for field, texts in message.items()
                if isinstance(texts, list)]
    return [message if isinstance(message, str) else "The API refused this application."]


if __name__ == "__main__":
    from waitress import serve

    serve(app, host="localhost", port=int(os.environ.get("PORT", "3000")), threads=16)
