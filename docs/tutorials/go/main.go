// A client of the platform: sign in, list applications, create one, sign out.
package main

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
)

var (
	loginURL  = os.Getenv("LOGIN_URL")
	apiURL    = os.Getenv("API_URL")
	publicURL = settingOr("PUBLIC_URL", "http://localhost:"+settingOr("PORT", "3000"))

	platform = &oauth2.Config{
		ClientID:     os.Getenv("CLIENT_ID"),
		ClientSecret: os.Getenv("CLIENT_SECRET"),
		RedirectURL:  publicURL + "/exchangeToken",
		Endpoint: oauth2.Endpoint{
			AuthURL:   loginURL + "/",
			TokenURL:  loginURL + "/api/exchangeToken",
			AuthStyle: oauth2.AuthStyleInParams,
		},
	}
)

// Each login is sealed with these settings. If one of them changes, the client refuses the logins that began before.
func currentSettings() string {
	return strings.Join([]string{loginURL, platform.ClientID, platform.RedirectURL}, " ")
}

func settingOr(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}

// ---- Calls to the platform --------------------------------------------------------------------------------------------

// The session is over. The visitor has to sign in again.
var errSignedOut = errors.New("signed out")

// The platform did not answer as it should. The visitor can try again.
var errPlatform = errors.New("the platform did not answer as it should")

const maxBytes = 8 << 20

// Every call ends after at most ten seconds. No call follows a redirect.
var httpClient = &http.Client{
	Timeout:       10 * time.Second,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 16, IdleConnTimeout: 4 * time.Second},
}

// The library reads answers itself. So this client limits their length, and refuses tokens in an answer whose status is
// not 200.
var exchangeClient = &http.Client{
	Timeout:       httpClient.Timeout,
	CheckRedirect: httpClient.CheckRedirect,
	Transport:     boundedTransport{},
}

type boundedTransport struct{}

func (boundedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := httpClient.Transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != 200 && response.StatusCode < 400 {
		response.Body.Close()
		return nil, fmt.Errorf("the portal answered with %d", response.StatusCode)
	}
	response.Body = http.MaxBytesReader(nil, response.Body, maxBytes)
	return response, nil
}

// sendForm posts a form with the client's credentials. It returns the status and the JSON.
func sendForm(ctx context.Context, path string, fields url.Values) (int, map[string]any, error) {
	fields.Set("client_id", platform.ClientID)
	fields.Set("client_secret", platform.ClientSecret)
	request, err := http.NewRequestWithContext(ctx, "POST", loginURL+path, strings.NewReader(fields.Encode()))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return send(request)
}

func send(request *http.Request) (int, map[string]any, error) {
	response, err := httpClient.Do(request)
	if err != nil {
		return 0, nil, fmt.Errorf("%w: %v", errPlatform, err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxBytes+1))
	if err != nil || len(content) > maxBytes {
		return 0, nil, fmt.Errorf("%w: it is too long or was cut off", errPlatform)
	}
	var answer map[string]any
	if len(content) > 0 {
		// An answer with an error status may be a web page.
		if err := json.Unmarshal(content, &answer); err != nil && response.StatusCode < 400 {
			return 0, nil, fmt.Errorf("%w: %v", errPlatform, err)
		}
	}
	return response.StatusCode, answer, nil
}

// ---- Pages ------------------------------------------------------------------------------------------------------------

type page struct {
	title   string
	content string
	status  int
	head    string
}

func (p page) show(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(p.status)
	title := html.EscapeString(p.title)
	fmt.Fprintf(w, `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>%s</title>`+
		`<meta name="viewport" content="width=device-width, initial-scale=1">%s</head>`+
		`<body><main><h1>%s</h1>%s</main></body></html>`, title, p.head, title, p.content)
}

const signOutForm = `<form method="post" action="/logout"><button>Sign out</button></form>`

func signInPage(title string, status int) page {
	return page{title: title, content: `<p><a href="/login">Sign in</a></p>`, status: status}
}

func goOn(path string) string {
	return fmt.Sprintf(`<meta http-equiv="refresh" content="0; url=%s">`, html.EscapeString(path))
}

// protect sets the security headers and refuses forms from other sites.
func protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		headers := w.Header()
		headers.Set("Cache-Control", "no-store")
		headers.Set("Content-Security-Policy",
			"default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		headers.Set("X-Content-Type-Options", "nosniff")
		headers.Set("Referrer-Policy", "same-origin")
		if r.URL.Path == "/exchangeToken" {
			// Its address contains the code.
			headers.Set("Referrer-Policy", "no-referrer")
		}
		// Browsers send Origin with every POST of a page.
		if r.Method == "POST" && r.Header.Get("Origin") != publicURL {
			page{title: "This form came from another site", status: 403}.show(w)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
		next.ServeHTTP(w, r)
	})
}

// ---- Cookies ----------------------------------------------------------------------------------------------------------

var sealer = newSealer(os.Getenv("SESSION_KEY"))

func newSealer(secret string) cipher.AEAD {
	if len(secret) < 32 {
		log.Fatal("SESSION_KEY needs at least 32 random characters")
	}
	key := sha256.Sum256([]byte(secret))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		log.Fatal(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		log.Fatal(err)
	}
	return aead
}

type sealed struct {
	Value  json.RawMessage
	EndsAt time.Time
}

// seal encrypts a value for one cookie. unseal accepts the result only in this cookie, and only during its lifetime.
func seal(name string, value any, lifetime time.Duration) string {
	content, _ := json.Marshal(value)
	text, _ := json.Marshal(sealed{content, time.Now().Add(lifetime)})
	nonce := make([]byte, sealer.NonceSize())
	rand.Read(nonce)
	return base64.RawURLEncoding.EncodeToString(sealer.Seal(nonce, nonce, text, []byte(name)))
}

// unseal reads a sealed value. It returns false if somebody else made this string, or if its lifetime is over.
func unseal(name, text string, value any) bool {
	content, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(content) < sealer.NonceSize() {
		return false
	}
	size := sealer.NonceSize()
	plain, err := sealer.Open(nil, content[:size], content[size:], []byte(name))
	if err != nil {
		return false
	}
	var opened sealed
	if json.Unmarshal(plain, &opened) != nil || opened.EndsAt.Before(time.Now()) {
		return false
	}
	return json.Unmarshal(opened.Value, value) == nil
}

func setCookie(w http.ResponseWriter, name, value string, lifetime time.Duration, sameSite http.SameSite) {
	seconds := int(lifetime.Seconds())
	if value == "" {
		seconds = -1
	}
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: seconds, Secure: true, HttpOnly: true, SameSite: sameSite,
	})
}

func readCookie(r *http.Request, name string, value any) bool {
	cookie, err := r.Cookie(name)
	return err == nil && unseal(name, cookie.Value, value)
}

// Each login has a cookie whose name contains the state, so that several tabs can sign in at the same time. The cookie
// is Lax, because the browser must send it when the portal redirects.
const loginPrefix = "__Host-login-"

func loginCookies(r *http.Request) []string {
	var names []string
	for _, cookie := range r.Cookies() {
		if strings.HasPrefix(cookie.Name, loginPrefix) {
			names = append(names, cookie.Name)
		}
	}
	return names
}

// ---- The session ------------------------------------------------------------------------------------------------------

// The refresh token lives longer than the access token, so it has a cookie of its own.
const (
	sessionCookie   = "__Host-session"
	refreshCookie   = "__Host-refresh"
	refreshLifetime = 14 * 24 * time.Hour
	// Browsers do not keep a cookie of more than 4,096 bytes. Sealing makes a token a third longer.
	maxToken = 2700
	// Browsers keep a cookie for at most 400 days.
	maxLifetime = 400 * 24 * time.Hour
)

type session struct {
	ID           string
	AccessToken  string
	EndsAt       time.Time
	RefreshToken string
	// A renewal does not extend the lifetime of the refresh cookie. Otherwise a stolen copy could be used forever.
	RefreshEndsAt time.Time
}

type sessionPart struct {
	ID          string
	AccessToken string
	EndsAt      time.Time
}

type refreshPart struct {
	ID           string
	RefreshToken string
	EndsAt       time.Time
}

func readSession(r *http.Request) *session {
	var access sessionPart
	var refresh refreshPart
	hasAccess := readCookie(r, sessionCookie, &access)
	hasRefresh := readCookie(r, refreshCookie, &refresh)
	switch {
	case hasAccess:
		return &session{access.ID, access.AccessToken, access.EndsAt, refresh.RefreshToken, refresh.EndsAt}
	case hasRefresh:
		return &session{ID: refresh.ID, RefreshToken: refresh.RefreshToken, RefreshEndsAt: refresh.EndsAt}
	default:
		return nil
	}
}

// keep sets the cookies. Each cookie lives as long as its token, and browsers send it only from our own pages.
func (s *session) keep(w http.ResponseWriter) {
	lifetime := time.Until(s.EndsAt)
	part := sessionPart{s.ID, s.AccessToken, s.EndsAt}
	setCookie(w, sessionCookie, seal(sessionCookie, part, lifetime), lifetime+time.Second/2, http.SameSiteStrictMode)
	if s.RefreshToken != "" {
		left := time.Until(s.RefreshEndsAt)
		value := seal(refreshCookie, refreshPart{s.ID, s.RefreshToken, s.RefreshEndsAt}, left)
		setCookie(w, refreshCookie, value, left+time.Second/2, http.SameSiteStrictMode)
	}
}

func endSession(w http.ResponseWriter) {
	setCookie(w, sessionCookie, "", 0, http.SameSiteStrictMode)
	setCookie(w, refreshCookie, "", 0, http.SameSiteStrictMode)
}

// readTokens reads the values that we keep from the portal's answer.
func readTokens(token *oauth2.Token) (*session, error) {
	seconds, isNumber := token.Extra("expires_in").(float64)
	if !strings.EqualFold(token.TokenType, "bearer") || !isNumber || seconds <= 0 {
		return nil, fmt.Errorf("%w: not a bearer token with a lifetime", errPlatform)
	}
	// A header can contain only these characters.
	if strings.IndexFunc(token.AccessToken, func(c rune) bool { return c <= ' ' || c > '~' }) >= 0 {
		return nil, fmt.Errorf("%w: the access token does not fit into a header", errPlatform)
	}
	if len(token.AccessToken) > maxToken || len(token.RefreshToken) > maxToken {
		return nil, fmt.Errorf("%w: a token does not fit into a cookie", errPlatform)
	}
	lifetime := maxLifetime
	if seconds < maxLifetime.Seconds() {
		lifetime = time.Duration(seconds * float64(time.Second))
	}
	return &session{AccessToken: token.AccessToken, RefreshToken: token.RefreshToken, EndsAt: time.Now().Add(lifetime)}, nil
}

// ---- Signing in -------------------------------------------------------------------------------------------------------

// randomText returns a string with 256 random bits.
func randomText() string {
	value := make([]byte, 32)
	if _, err := rand.Read(value); err != nil {
		log.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(value)
}

type pendingLogin struct{ Verifier, Settings string }

func login(w http.ResponseWriter, r *http.Request) {
	// The client keeps at most five logins, because a browser sends all of their cookies.
	if names := loginCookies(r); len(names) > 4 {
		for _, name := range names[:len(names)-4] {
			setCookie(w, name, "", 0, http.SameSiteLaxMode)
		}
	}
	state, verifier := randomText(), randomText()
	challenge := sha256.Sum256([]byte(verifier))
	name := loginPrefix + state
	pending := pendingLogin{verifier, currentSettings()}
	setCookie(w, name, seal(name, pending, 10*time.Minute), 10*time.Minute, http.SameSiteLaxMode)
	// The platform requires two parameters that OAuth does not define.
	http.Redirect(w, r, platform.AuthCodeURL(state,
		oauth2.SetAuthURLParam("grant_type", "authorization"),
		oauth2.SetAuthURLParam("cancel_url", publicURL+"/cancelled"),
		oauth2.SetAuthURLParam("code_challenge", base64.RawURLEncoding.EncodeToString(challenge[:])),
		oauth2.SetAuthURLParam("code_challenge_method", "S256"),
	), http.StatusFound)
}

// isCode returns false if the text cannot be a code. Every code consists of printable ASCII characters.
func isCode(text string) bool {
	isOdd := func(c rune) bool { return c < ' ' || c > '~' }
	return text != "" && len(text) <= 2048 && strings.IndexFunc(text, isOdd) < 0
}

func exchangeToken(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	refuse := func() { signInPage("This is not the answer to a login of this browser", 400).show(w) }
	for _, values := range query {
		if len(values) > 1 {
			refuse()
			return
		}
	}
	state := query.Get("state")
	var pending pendingLogin
	if !readCookie(r, loginPrefix+state, &pending) || pending.Settings != currentSettings() {
		refuse()
		return
	}
	setCookie(w, loginPrefix+state, "", 0, http.SameSiteLaxMode)
	isOurs := !query.Has("client_id") || query.Get("client_id") == platform.ClientID
	isOfPortal := !query.Has("iss") || query.Get("iss") == loginURL
	if !isOurs || !isOfPortal || query.Has("error") || !isCode(query.Get("code")) || len(query.Get("subject")) > 2048 {
		refuse()
		return
	}

	ctx := context.WithValue(r.Context(), oauth2.HTTPClient, exchangeClient)
	// The platform also requires the state in the exchange.
	token, err := platform.Exchange(ctx, query.Get("code"),
		oauth2.SetAuthURLParam("state", state), oauth2.SetAuthURLParam("code_verifier", pending.Verifier))
	var refusal *oauth2.RetrieveError
	if errors.As(err, &refusal) {
		status := refusal.Response.StatusCode
		if status >= 400 && status < 500 {
			refuse()
			return
		}
		// The text of this error contains the body of the response, which may contain tokens, so it must not be logged.
		err = fmt.Errorf("an exchange with status %d", status)
	}
	if err != nil {
		showError(w, r, fmt.Errorf("%w: %v", errPlatform, err))
		return
	}
	if token.Extra("state") != state {
		showError(w, r, fmt.Errorf("%w: the answer belongs to another login", errPlatform))
		return
	}
	session, err := readTokens(token)
	if err != nil {
		showError(w, r, err)
		return
	}
	session.ID = randomText()
	session.RefreshEndsAt = time.Now().Add(refreshLifetime)
	session.keep(w)
	// A page and not a redirect: after a redirect that began at the portal, browsers do not send a Strict cookie.
	link := `<p><a href="/applications">Go on</a></p>`
	page{title: "You are signed in", content: link, status: 200, head: goOn("/applications")}.show(w)
}

func logout(w http.ResponseWriter, r *http.Request) {
	session := readSession(r)
	endSession(w)
	for _, name := range loginCookies(r) {
		setCookie(w, name, "", 0, http.SameSiteLaxMode)
	}
	if session != nil {
		token := session.RefreshToken
		if token == "" {
			token = session.AccessToken
		}
		if _, _, err := sendForm(r.Context(), "/api/revokeToken", url.Values{"token": {token}}); err != nil {
			log.Print("The portal did not revoke the tokens: ", err)
		}
	}
	signInPage("You are signed out", 200).show(w)
}

// showError answers with the page that fits the error.
func showError(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errSignedOut) {
		// A link on another site led here, so the browser did not send its Strict cookies. This page opens the address
		// again, and the browser then sends them.
		if r.Method == "GET" && r.Header.Get("Sec-Fetch-Site") == "cross-site" {
			page{title: "One moment", status: 200, head: goOn(r.URL.EscapedPath())}.show(w)
			return
		}
		endSession(w)
		signInPage("You are not signed in", 401).show(w)
		return
	}
	log.Print(err)
	again := fmt.Sprintf(`<p><a href="%s">Try again</a></p>`, html.EscapeString(r.URL.EscapedPath()))
	page{title: "The platform does not answer as it should", content: again + signOutForm, status: 502}.show(w)
}

// ---- Calling the API --------------------------------------------------------------------------------------------------

// shared calls the function work for the first request with a key. Later requests with this key wait, and get the same
// result.
type shared[T any] struct {
	mutex   sync.Mutex
	results map[string]*result[T]
}

type result[T any] struct {
	done  chan struct{}
	at    time.Time
	value T
	err   error
}

func (s *shared[T]) once(key string, keepFor time.Duration, work func() (T, error)) (T, error) {
	s.mutex.Lock()
	first, isKnown := s.results[key]
	if !isKnown {
		for old, result := range s.results {
			if time.Since(result.at) > keepFor {
				delete(s.results, old)
			}
		}
		first = &result[T]{done: make(chan struct{}), at: time.Now()}
		s.results[key] = first
	}
	s.mutex.Unlock()
	if !isKnown {
		first.value, first.err = work()
		if first.err != nil {
			// The next request tries again.
			s.mutex.Lock()
			delete(s.results, key)
			s.mutex.Unlock()
		}
		close(first.done)
	}
	<-first.done
	return first.value, first.err
}

var renewals = shared[*session]{results: map[string]*result[*session]{}}

// renew returns new tokens. Requests with the same refresh token share one renewal, because the portal replaces the token.
func renew(old *session) (*session, error) {
	if old.RefreshToken == "" {
		return nil, errSignedOut
	}
	return renewals.once(old.RefreshToken, 30*time.Second, func() (*session, error) {
		// Do not use the context of the request, because other requests may wait for this renewal.
		fields := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {old.RefreshToken}}
		status, answer, err := sendForm(context.Background(), "/api/exchangeToken", fields)
		if err != nil {
			return nil, err
		}
		// Only these statuses and errors end a session. After any other failure, such as a 503 answer, the visitor stays
		// signed in.
		switch status {
		case 404, 405, 501:
			return nil, errSignedOut
		case 400, 401:
			switch answer["error"] {
			case "invalid_grant", "unauthorized_client", "unsupported_grant_type":
				return nil, errSignedOut
			}
		}
		accessToken, _ := answer["access_token"].(string)
		tokenType, _ := answer["token_type"].(string)
		refreshToken, _ := answer["refresh_token"].(string)
		if status != 200 || accessToken == "" {
			return nil, fmt.Errorf("%w: a renewal with status %d", errPlatform, status)
		}
		token := &oauth2.Token{AccessToken: accessToken, TokenType: tokenType, RefreshToken: refreshToken}
		renewed, err := readTokens(token.WithExtra(answer))
		if err != nil {
			return nil, err
		}
		renewed.ID = old.ID
		renewed.RefreshEndsAt = old.RefreshEndsAt
		if renewed.RefreshToken == "" {
			renewed.RefreshToken = old.RefreshToken
		}
		return renewed, nil
	})
}

// visit is a request from a visitor who is signed in.
type visit struct {
	w       http.ResponseWriter
	r       *http.Request
	session *session
}

// signedIn runs the handler of a page for visitors who are signed in. It shows the page, or the error.
func signedIn(handle func(*visit) (page, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := &visit{w, r, readSession(r)}
		if v.session == nil {
			showError(w, r, errSignedOut)
			return
		}
		if v.session.RefreshToken != "" && time.Until(v.session.EndsAt) < 30*time.Second {
			if err := v.renew(); err != nil {
				showError(w, r, err)
				return
			}
		}
		answer, err := handle(v)
		if err != nil {
			showError(w, r, err)
			return
		}
		answer.show(w)
	}
}

func (v *visit) renew() error {
	renewed, err := renew(v.session)
	if err != nil {
		return err
	}
	v.session = renewed
	renewed.keep(v.w)
	return nil
}

// call sends a request for the visitor. It renews the session once if the access token is refused.
func (v *visit) call(method, address string, body any) (int, map[string]any, error) {
	content, err := json.Marshal(body)
	if err != nil {
		return 0, nil, err
	}
	for attempt := 0; attempt < 2; attempt++ {
		request, err := http.NewRequestWithContext(v.r.Context(), method, address, nil)
		if err != nil {
			return 0, nil, err
		}
		if body != nil {
			request.Body = io.NopCloser(strings.NewReader(string(content)))
			request.ContentLength = int64(len(content))
			request.Header.Set("Content-Type", "application/json")
		}
		request.Header.Set("Authorization", "Bearer "+v.session.AccessToken)
		status, answer, err := send(request)
		if status != 401 || err != nil {
			return status, answer, err
		}
		if attempt == 0 {
			if err := v.renew(); err != nil {
				return 0, nil, err
			}
		}
	}
	return 0, nil, errSignedOut
}

// list calls the API for a list. It returns the valid records and leaves out all other values.
func (v *visit) list(address string) ([]map[string]any, error) {
	status, answer, err := v.call("GET", address, nil)
	if err != nil {
		return nil, err
	}
	items, isList := answer["ItemList"].([]any)
	if status != 200 || !isList {
		return nil, fmt.Errorf("%w: a list with status %d", errPlatform, status)
	}
	var records []map[string]any
	for _, item := range items {
		if record, isRecord := item.(map[string]any); isRecord {
			records = append(records, record)
		}
	}
	return records, nil
}

func nameOf(record map[string]any) string {
	data, _ := record["data"].(map[string]any)
	name, _ := data["name"].(string)
	return name
}

func listApplications(v *visit) (page, error) {
	applications, err := v.list(apiURL + "/apps/v1")
	if err != nil {
		return page{}, err
	}
	content := "<p>You have no applications yet.</p>"
	if len(applications) > 0 {
		var rows strings.Builder
		for _, application := range applications {
			name := nameOf(application)
			if name == "" {
				name = "Unnamed"
			}
			fmt.Fprintf(&rows, "<li>%s</li>", html.EscapeString(name))
		}
		content = "<ul>" + rows.String() + "</ul>"
	}
	content += `<p><a href="/applications/new">New application</a></p>` + signOutForm
	return page{title: "Your applications", content: content, status: 200}, nil
}

// ---- Creating an application ------------------------------------------------------------------------------------------

var fields = []struct{ name, label string }{
	{"name", "Name"},
	{"description", "Description"},
	{"webPageUrl", "Web page"},
	{"iconUrl", "Icon"},
	{"privacyPolicyUrl", "Privacy policy"},
	{"redirectUris", "Redirect URIs, separated by commas"},
	{"scopes", "Scopes"},
	{"defaultScopes", "Default scopes"},
}

type formToken struct{ FormID, SessionID string }

// The pages that answered forms. The client keeps each page for an hour, because browsers repeat a form by themselves if
// the connection breaks.
var answeredForms = shared[page]{results: map[string]*result[page]{}}

func (v *visit) groupOptions(chosen string) (string, error) {
	status, person, err := v.call("GET", loginURL+"/api/me", nil)
	if err != nil {
		return "", err
	}
	personID, _ := person["@id"].(string)
	if status != 200 || personID == "" {
		return "", fmt.Errorf("%w: the request for the person, with status %d", errPlatform, status)
	}
	links, err := v.list(apiURL + "/identities/v1/" + url.PathEscape(personID) + "/links?type=MemberOf")
	if err != nil {
		return "", err
	}
	var options strings.Builder
	for _, link := range links {
		if id, isText := link["to"].(string); isText {
			selected := ""
			if id == chosen {
				selected = " selected"
			}
			fmt.Fprintf(&options, `<option value="%s"%s>%s</option>`,
				html.EscapeString(id), selected, html.EscapeString(nameOf(link)))
		}
	}
	return options.String(), nil
}

// form returns the page with the form. The form shows the typed values, and can create only one application for this
// visitor.
func (v *visit) form(values url.Values, problems []string, status int) (page, error) {
	options, err := v.groupOptions(values.Get("groupId"))
	if err != nil {
		return page{}, err
	}
	var content strings.Builder
	content.WriteString(`<ul role="alert">`)
	for _, problem := range problems {
		fmt.Fprintf(&content, "<li>%s</li>", html.EscapeString(problem))
	}
	fmt.Fprintf(&content, `</ul><form method="post" action="/applications"><input type="hidden" name="form" value="%s">`,
		seal("form", formToken{randomText(), v.session.ID}, time.Hour))
	content.WriteString(`<p><label>Group<br><select name="groupId" required><option value="">Choose a group</option>`)
	fmt.Fprintf(&content, `%s</select></label></p>`, options)
	for _, field := range fields {
		fmt.Fprintf(&content, `<p><label>%s<br><input name="%s" value="%s"></label></p>`,
			field.label, field.name, html.EscapeString(values.Get(field.name)))
	}
	content.WriteString("<button>Create</button></form>" + signOutForm)
	return page{title: "New application", content: content.String(), status: status}, nil
}

func newApplication(v *visit) (page, error) {
	return v.form(url.Values{}, nil, 200)
}

func createApplication(v *visit) (page, error) {
	if err := v.r.ParseForm(); err != nil {
		return page{title: "This form cannot be read", status: 400}, nil
	}
	values := v.r.PostForm
	var token formToken
	if !unseal("form", values.Get("form"), &token) || token.SessionID != v.session.ID {
		return v.form(values, []string{"This form is too old. Check it and send it again."}, 400)
	}
	return answeredForms.once(token.FormID, time.Hour, func() (page, error) { return v.createFromForm(values) })
}

func (v *visit) createFromForm(values url.Values) (page, error) {
	data := map[string]string{"groupId": values.Get("groupId")}
	for _, field := range fields {
		data[field.name] = values.Get(field.name)
	}
	status, answer, err := v.call("POST", apiURL+"/apps/v1", map[string]any{
		"context": "https://standards.oftrust.net/v2/Context/Identity/Digital/Software/App/",
		"type":    "App",
		"data":    data,
	})
	if errors.Is(err, errSignedOut) {
		return page{}, err
	}
	switch status {
	case 400, 403, 404, 409, 422:
		return v.form(values, problemsIn(answer), status)
	}
	client, _ := answer["client"].(map[string]any)
	secrets, _ := client["clientSecrets"].([]any)
	if err != nil || len(secrets) == 0 {
		log.Print("A creation ended with status ", status, ": ", err)
		// The API may have created the application. Sending the form again must not create a second application.
		link := `<p><a href="/applications">Check whether it is in the list</a> before you create it again.</p>`
		return page{title: "It is not known whether the application was created", content: link + signOutForm, status: 502}, nil
	}
	content := fmt.Sprintf(`<p>Copy the secret now. It is shown only once.</p><dl><dt>Client ID</dt><dd>%s</dd>`+
		`<dt>Client secret</dt><dd>%s</dd></dl><p><a href="/applications">Your applications</a></p>`+signOutForm,
		html.EscapeString(fmt.Sprint(client["clientId"])), html.EscapeString(fmt.Sprint(secrets[0])))
	return page{title: "The application was created", content: content, status: 200}, nil
}

// problemsIn returns the sentences of a refusal. A refusal has one sentence, or a list of sentences for each field.
func problemsIn(answer map[string]any) []string {
	refusal, _ := answer["error"].(map[string]any)
	switch message := refusal["message"].(type) {
	case string:
		return []string{message}
	case map[string]any:
		var problems []string
		for name, texts := range message {
			for _, field := range fields {
				if field.name == name {
					name = field.label
				}
			}
			problems = append(problems, fmt.Sprint(name, ": ", texts))
		}
		return problems
	default:
		return []string{"The API refused this application."}
	}
}

// only returns a handler that accepts one method, and answers 405 to all other methods.
func only(method string, handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != method {
			w.Header().Set("Allow", method)
			page{title: "This page does not answer " + r.Method, status: 405}.show(w)
			return
		}
		handler(w, r)
	}
}

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			page{title: "There is no such page", status: 404}.show(w)
			return
		}
		links := `<p><a href="/applications">Your applications</a></p><p><a href="/login">Sign in</a></p>`
		page{title: "Applications", content: links, status: 200}.show(w)
	})
	mux.HandleFunc("/login", only("GET", login))
	mux.HandleFunc("/exchangeToken", only("GET", exchangeToken))
	mux.HandleFunc("/cancelled", only("GET", func(w http.ResponseWriter, _ *http.Request) {
		signInPage("You did not sign in", 200).show(w)
	}))
	mux.HandleFunc("/logout", only("POST", logout))
	mux.HandleFunc("/applications/new", only("GET", signedIn(newApplication)))
	mux.HandleFunc("/applications", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "POST" {
			signedIn(createApplication)(w, r)
			return
		}
		only("GET", signedIn(listApplications))(w, r)
	})

	server := &http.Server{
		Addr:              "localhost:" + settingOr("PORT", "3000"),
		Handler:           protect(mux),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      60 * time.Second,
		MaxHeaderBytes:    16 << 10,
	}
	log.Print("Open: ", publicURL)
	log.Fatal(server.ListenAndServe())
}
